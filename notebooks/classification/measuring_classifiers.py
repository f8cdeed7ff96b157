# ---
# jupyter:
#   book:
#     functions:
#       confusion: confusion(np.array([0, 1, 1, 2, 0]), np.array([0, 1, 2, 2, 1]), 3)
#       roc: roc(normal(9), np.arange(9) % 2)
#       area: area(np.sort(uniform(5)), np.sort(uniform(5)))
#       calibration: calibration(uniform(40), np.arange(40) % 2, [0, 0.5, 1])
#     main: clf-confusion
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Measuring a classifier: confusion matrix, ROC curve, calibration
#
# Of 569 breast tumours in a clinic, 212 were malignant. A classifier that looks at only two measurements is right for 89.1 %
# of them. That sounds good. But it missed 40 of the 212 cancers, and whoever always answers "benign" is also right for
# 62.7 %. Which numbers should we look at?
#
# - **You need** [one-hot labels](classification.ipynb), [logistic regression](logistic_regression.ipynb),
#   [Bayes' theorem](../probability/bayes_theorem.ipynb) with its naive Bayes classifier, and
#   [cross-validation](../regression/cross_validation.ipynb).
# - **You build** the confusion matrix, recall and precision, the ROC curve and its area as in scikit-learn, and you
#   choose a threshold by what errors cost.
# - **Runs in** 8 seconds, in float64.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn import metrics
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nbutils.cases import counts, on, scalars, seeds
from nbutils.checks import close, grade, verify
from nbutils.data import digits
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## The confusion matrix, precision and recall
#
# The table holds measurements of cell nuclei under the microscope {cite}`street1993nuclear`. We call *malignant* the
# positive class. Logistic regression looks at the mean radius and the mean texture. Each tumour
# gets its probability from a model trained on the other four fifths:

# %%
data = load_breast_cancer()
table, y = data.data, 1 - data.target        # 1: malignant

def predict(model, columns, seed=0):
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    return cross_val_predict(model, table[:, :columns], y, cv=folds,
                             method='predict_proba')[:, 1]

logistic = make_pipeline(StandardScaler(), LogisticRegression())
p = predict(logistic, 2)                     # (569,)

# %%
answers = (p > 0.5).astype(int)
print(f'right: {(answers == y).mean():.3f}')
print(f'always "benign" is right: {(y == 0).mean():.3f}')
print('malignant and missed:', ((y == 1) & (answers == 0)).sum())
print('benign and alarmed:  ', ((y == 0) & (answers == 1)).sum())

# %% [markdown]
# The share of right answers, the **accuracy**, hides what kind of errors there are. The **confusion matrix** counts each
# kind: $C_{jk}$ is the number of examples of class $j$ that were called $k$. With the one-hot labels $\mathbf{Y}$ and the
# one-hot answers $\hat{\mathbf{Y}}$ it is a matrix product, because $\sum_i y^{(i)}_j \hat y^{(i)}_k$ counts exactly the
# examples $i$ for which both are one:
#
# ```{math}
# :label: clf-confusion
# \mathbf{C} = \mathbf{Y}^\top \hat{\mathbf{Y}} .
# ```

# %%
def confusion(y, answers, q):
    """Rows: the true classes. Columns: the answers."""
    one_hot = np.eye(q, dtype=int)
    return one_hot[y].T @ one_hot[answers]    # (q, n) @ (n, q)

C = confusion(y, answers, 2)
print(C)
print('different from scikit-learn:',
      (C != metrics.confusion_matrix(y, answers)).sum())

# %% mystnb={"image": {"alt": "A square of four fields. Upper row, truly benign: 335 true negatives, 22 false positives. Lower row, truly malignant: 40 false negatives, 172 true positives. A frame around the lower row is labelled recall 0.81, a frame around the right column is labelled precision 0.89."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5, 2.8))
names = [['true negatives', 'false positives'], ['false negatives', 'true positives']]
for j in range(2):
    for k in range(2):
        ax.add_patch(plt.Rectangle((k, 1 - j), 1, 1, fc='C0' if j == k else 'C1', alpha=0.2, lw=0))
        ax.text(k + 0.5, 1.55 - j, C[j, k], ha='center', va='center', fontsize=14)
        ax.text(k + 0.5, 1.25 - j, names[j][k], ha='center', va='center', fontsize=8.5)
ax.add_patch(plt.Rectangle((0.02, 0.02), 1.96, 0.96, fill=False, ec='C3', lw=2))
ax.add_patch(plt.Rectangle((1.05, 0.05), 0.9, 1.9, fill=False, ec='C2', lw=2))
ax.text(2.08, 0.5, f'recall\n{C[1, 1]} / {C[1].sum()} = {C[1, 1] / C[1].sum():.2f}', color='C3', va='center')
ax.text(1.5, -0.12, f'precision  {C[1, 1]} / {C[:, 1].sum()} = {C[1, 1] / C[:, 1].sum():.2f}', color='C2',
        ha='center', va='top')
for j, name in enumerate(('benign', 'malignant')):
    ax.text(-0.05, 1.5 - j, name, ha='right', va='center')
    ax.text(j + 0.5, 2.06, f'called {name}', ha='center')
ax.set(xlim=(-0.6, 3.1), ylim=(-0.4, 2.25))
ax.axis('off');

# %% [markdown] tags=["caption"]
# Recall divides by the sum of a row, precision by the sum of a column.

# %% [markdown]
# For the positive class the four counts have names: true positives TP, false positives FP, false negatives FN, and true
# negatives TN. Their most used quotients:
#
# - The **recall** $\mathrm{TP} / (\mathrm{TP} + \mathrm{FN})$: what share of the cancers was found? It is also called the
#   true positive rate, TPR, or the sensitivity.
# - The **precision** $\mathrm{TP} / (\mathrm{TP} + \mathrm{FP})$: what share of the alarms was right?
# - The **false positive rate** FPR, $\mathrm{FP} / (\mathrm{FP} + \mathrm{TN})$: what share of the benign tumours raised
#   an alarm?
#
# The harmonic mean of recall and precision is the **F₁ score**, $2 \mathrm{TP} / (2 \mathrm{TP} + \mathrm{FP} +
# \mathrm{FN})$.

# %%
def recall_precision(C):
    """Recall and precision of each class, (q,) each."""
    hits = np.diag(C)
    return hits / C.sum(1), hits / C.sum(0)

recall, precision = recall_precision(C)
for name, r, s in zip(('benign', 'malignant'), recall, precision):
    print(f'{name:9} recall {r:.3f}, precision {s:.3f},'
          f' F1 {2 / (1 / r + 1 / s):.3f}')

# %% [markdown]
# `metrics.classification_report(y, answers)` prints these numbers. The weak spot is the recall of the malignant class.
#
# With more than two classes, the matrix also tells *which* classes are confused. For the handwritten digits, read by ridge
# regression on labels $\pm1$:

# %%
pixels, digit, _ = digits()
folds = StratifiedKFold(5, shuffle=True, random_state=0)
read = cross_val_predict(RidgeClassifier(), pixels, digit, cv=folds)
C_digits = confusion(digit, read, 10)
print(f'right: {np.diag(C_digits).sum() / C_digits.sum():.3f}')
wrong = C_digits - np.diag(np.diag(C_digits))
for index in (-wrong).ravel().argsort(kind='stable')[:4]:
    j, k = divmod(index, 10)
    print(f'{j} read as {k}: {wrong[j, k]} of {C_digits[j].sum()} times')
found = recall_precision(C_digits)[0]
print(f'lowest recall: {found.min():.3f}, of the digit {found.argmin()};'
      f' of all ten in the median {np.median(found):.3f}')

# %% [markdown]
# The accuracy hides that the eights are read much worse than most digits. They are most often taken for a 1 or a 9.
#
# ```{exercise} ★ Pencil: two lazy classifiers
# :label: measure-lazy
# What are accuracy, recall and precision of the classifier that always answers "malignant"? Of one that answers
# "malignant" with probability $\frac12$, whatever it sees? Use the share $\pi$ of malignant tumours. Write `lazy(pi, s)` for
# any probability $s$.
# ```

# %%
def lazy(pi, s):
    """Expected accuracy, recall and precision, as a tuple of three floats.

    The share pi of all tumours is malignant, 0 < pi < 1. The classifier
    answers "malignant" with probability s, 0 < s <= 1. The precision is the
    share of malignant tumours among many alarms.
    lazy(0.5, 0.5) is (0.5, 0.5, 0.5).
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_expected_table(pi, s):
    C = np.outer([1 - pi, pi], [1 - s, s])
    return C.trace(), C[1, 1] / C[1].sum(), C[1, 1] / C[:, 1].sum()

lazy_ones = dict(pi=scalars(0.001, 0.999), s=on(1.0, 0.5) | scalars(0.001, 1))
grade(lazy, by_expected_table, **lazy_ones)

# %% [markdown]
# ```{solution-start} measure-lazy
# :class: dropdown
# ```
# Always "malignant": the accuracy is $\pi$, the recall 1, the precision $\pi$. A coin: of the malignant tumours it finds
# half, so the expected recall is $\frac12$; it is right for half of all tumours; and among its alarms the share of malignant
# tumours is that of all tumours, so the precision is near $\pi$. A recall of 1 is easy to get, and so is a precision of
# $\pi$. So compare each score with these. Wrong answers exchange recall and precision, forget the benign tumours that are
# answered rightly, or give every classifier the accuracy of a coin.

# %% jupyter={"source_hidden": true}
def lazy_solution(pi, s):
    return pi * s + (1 - pi) * (1 - s), s, pi

def recall_for_precision(pi, s):
    return pi * s + (1 - pi) * (1 - s), pi, s

def without_the_benign(pi, s):
    return pi * s, s, pi

def as_a_coin(pi, s):
    return 0.5, s, pi

assert grade(lazy_solution, by_expected_table, **lazy_ones)
assert not grade(recall_for_precision, by_expected_table, **lazy_ones)
assert not grade(without_the_benign, by_expected_table, **lazy_ones)
assert not grade(as_a_coin, by_expected_table, **lazy_ones)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def named(seed, q=4):  # true classes and answers, each class in both
    rng = np.random.default_rng(seed)
    y, guess = rng.integers(0, q, size=(2, 30))
    return np.append(np.arange(q), y), np.append(np.arange(q), guess)

def by_sklearn(y, guess):
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(y, guess)
    return recall, precision, f1

def all_three(C):
    recall, precision = recall_precision(C)
    return recall, precision, 2 * np.diag(C) / (C.sum(0) + C.sum(1))

verify(
    'the confusion matrix is that of scikit-learn',
    lambda seed: close(confusion(*named(seed), 4), metrics.confusion_matrix(*named(seed))),
    slip=('exchanges truth and answers',
          lambda seed: close(confusion(*named(seed)[::-1], 4), metrics.confusion_matrix(*named(seed)))),
    seed=seeds(), tries=40,
)
verify(
    'recall, precision and their harmonic mean are those of scikit-learn',
    lambda seed: close(all_three(confusion(*named(seed), 4)), by_sklearn(*named(seed))),
    slip=('divides recall by columns and precision by rows',
          lambda seed: close(all_three(confusion(*named(seed), 4).T), by_sklearn(*named(seed)))),
    seed=seeds(), tries=40,
)

# %% [markdown]
# ## The ROC curve and the area under it (AUC)
#
# We called a tumour malignant if its probability was above $\frac12$. With a lower threshold we find more cancers, but more
# benign tumours raise an alarm:

# %%
print('threshold  recall  false positive rate  precision')
for threshold in (0.8, 0.5, 0.2, 0.05):
    C = confusion(y, (p > threshold).astype(int), 2)
    print(f'{threshold:6.2f} {C[1, 1] / C[1].sum():10.3f}'
          f' {C[0, 1] / C[0].sum():12.3f} {C[1, 1] / C[:, 1].sum():16.3f}')

# %% [markdown]
# The **ROC curve** shows all thresholds at once: the true positive rate against the false positive rate. To draw it, sort
# the examples by falling score and walk through the list, one step up for each positive and one step to the right for
# each negative. Examples of equal score are one step together.

# %%
def roc(score, y):
    """False and true positive rates from (0, 0) to (1, 1)."""
    score = 1.0 * score                                 # floats
    order = np.argsort(-score, kind='stable')
    last = np.append(np.diff(score[order]) != 0, True)  # of equal scores
    fp, tp = np.cumsum(1 - y[order])[last], np.cumsum(y[order])[last]
    rates = np.stack([fp / fp[-1], tp / tp[-1]])        # (2, steps)
    return np.insert(rates, 0, 0, axis=1).astype(score.dtype)

def area(fpr, tpr):
    """The area under the pieces of straight line."""
    return (np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2).sum()

# %% [markdown]
# A curve near the upper left corner is good, and the diagonal is as good as a coin. The area under the curve, **AUC**,
# has a meaning of its own:
#
# ```{prf:theorem} What the area under the curve means
# :label: thm-clf-auc
# The area under the ROC curve is the probability that a random positive has a larger score than a random negative,
# plus half the probability of a tie.
# ```
#
# ```{prf:proof}
# :class: dropdown
# Without ties, each negative makes one step to the right, and its width is one over the number of negatives. Over this step,
# the height of the curve is the share of the positives that have a larger score. So the area is the share of all pairs
# (positive, negative) in the right order. A group of $a$ positives and $b$ negatives of equal score makes one slanted step.
# The positives with larger score count as before. Above them lies a triangle, which is half of the rectangle of the $ab$
# pairs with equal scores.
# ```
#
# So the area judges the *order* of the scores alone: a strictly increasing function of them has the same area. Our second
# classifier is a naive Bayes classifier, which takes ten measurements and treats them as independent given the class. Which
# one ranks better?

# %%
naive = predict(GaussianNB(), 10)
models = {'logistic, 2 columns': p, 'naive Bayes, 10 columns': naive}
rng = np.random.default_rng(0)
for name, score in models.items():
    draws = [rng.integers(0, 569, 569) for _ in range(200)]
    spread = np.std([area(*roc(score[i], y[i])) for i in draws])
    print(f'{name:24} AUC {area(*roc(score, y)):.3f} ± {spread:.4f},'
          f' scikit-learn {metrics.roc_auc_score(y, score):.3f}')

# %% mystnb={"image": {"alt": "True positive rate against false positive rate. Two staircases rise steeply from the lower left corner towards the upper left one; except at the two ends that of naive Bayes lies above that of logistic regression. A dot on each marks the threshold one half. A dotted diagonal is labelled coin."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(4.6, 3.4))
for (name, score), colour, place in zip(models.items(), ('C0', 'C1'), ((0.16, 0.8), (0.03, 1.02))):
    fpr, tpr = roc(score, y)
    ax.plot(fpr, tpr, color=colour, lw=1.4)
    ax.plot(((score > 0.5) & (y == 0)).sum() / 357, ((score > 0.5) & (y == 1)).sum() / 212, 'o', color=colour)
    ax.text(*place, name, color=colour)
ax.plot([0, 1], [0, 1], ':', color=GREY)
ax.text(0.62, 0.52, 'coin', color=GREY)
ax.text(0.16, 0.7, 'dots: threshold 1/2', fontsize=8.5)
ax.set(xlabel='false positive rate', ylabel='true positive rate', ylim=(0, 1.1));

# %% [markdown] tags=["caption"]
# ROC curves of two classifiers. Naive Bayes is above except near the two ends. A random malignant tumour gets a higher score
# than a random benign one in $0.975$ of the pairs, with logistic regression in $0.950$.

# %% [markdown]
# Each ± is the standard deviation over 200 samples of tumours, drawn with replacement. The two areas differ by nearly three
# times the larger of these. How does the area grow with the distance between the classes? Let both have Gaussian scores with
# standard deviation 1, and let the mean of the positives be larger by $\Delta$. Then the difference between a positive and a
# negative score is Gaussian with mean $\Delta$ and variance 2, so the area is $\Phi(\Delta / \sqrt2)$.

# %%
rng = np.random.default_rng(0)
for gap in (0, 1, 2, 3):
    score, half = rng.normal(size=20_000), np.arange(20_000) % 2
    measured = area(*roc(score + gap * half, half))
    print(f'means {gap} apart: area {measured:.2f},'
          f' formula {norm.cdf(gap / 2**0.5):.2f}')

# %% tags=["checks"]
def pairs_in_order(score, y, tie):
    gap = score[y == 1][:, None] - score[y == 0]  # all pairs
    return ((gap > 0) + tie * (gap == 0)).mean()

def scored(seed, digits):  # rounded to 0 or 1 digits, so that there are ties
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.random(40) < 0.3) * 1
    return np.round(rng.normal(size=42), digits), y

def roc_agrees(seed, digits, tie):  # whole numbers are given as integers
    score, y = scored(seed, digits)
    score = score if digits else score.astype(int)
    mine, theirs = roc(score, y), metrics.roc_curve(y, score, drop_intermediate=False)[:2]
    return (close(mine, theirs) and close(area(*mine), metrics.roc_auc_score(y, score))
            and close(area(*mine), pairs_in_order(score, y, tie)))

verify(
    'the area counts pairs in the right order, ties by one half',
    lambda seed, digits: roc_agrees(seed, digits, 0.5),
    slip=('counts ties as wrong', lambda seed, digits: roc_agrees(seed, digits, 0)),
    seed=seeds(), digits=[0, 1], tries=40,
)

def same_area(seed, change):
    score, y = scored(seed, 1)
    return close(area(*roc(change(score), y)), area(*roc(score, y)))

verify(
    'an increasing function of the scores does not change the area',
    lambda seed: same_area(seed, lambda score: np.exp(3 * score) - 5),
    slip=('takes a function that is not increasing', lambda seed: same_area(seed, lambda score: score**2)),
    seed=seeds(), tries=40,
)

def gaussian_area(gap, formula, n=100_000):  # an average over pairs has at most the variance A (1 - A) / n
    rng = np.random.default_rng(1)
    y = np.arange(2 * n) % 2
    A = norm.cdf(formula(gap))
    return abs(area(*roc(rng.normal(size=2 * n) + gap * y, y)) - A) < 5 * np.sqrt(A * (1 - A) / n)

verify(
    'for Gaussian scores the area is Phi(gap / sqrt 2)',
    lambda gap: gaussian_area(gap, lambda gap: gap / 2**0.5),
    slip=('divides by two', lambda gap: gaussian_area(gap, lambda gap: gap / 2)),
    gap=[0, 0.5, 1, 2, 3],
)

# %% [markdown]
# ## Base rates: why precision falls outside the clinic
#
# More than a third of the tumours in the table are malignant. This share is the **base rate** $\pi$. Recall, false positive
# rate and ROC curve look at each class alone. So they do not depend on it, as long as the tumours within each class stay
# alike. Precision mixes the classes. By Bayes' theorem,
#
# ```{math}
# :label: clf-precision
# \text{precision} = \frac{\pi \cdot \mathrm{TPR}}{\pi \cdot \mathrm{TPR} + (1 - \pi) \cdot \mathrm{FPR}} .
# ```
#
# Suppose that the classifier is used for screening, where one tumour in a hundred is malignant. To imitate this, we
# keep all benign tumours and draw 4 malignant ones, a thousand times.

# %%
alarm = p > 0.5
tpr, fpr = alarm[y == 1].mean(), alarm[y == 0].mean()

def precision_at(pi):
    return pi * tpr / (pi * tpr + (1 - pi) * fpr)

print(f'TPR {tpr:.3f}, FPR {fpr:.3f}')
for pi in (212 / 569, 0.1, 4 / 361, 0.001):
    print(f'base rate {pi:.4f}: precision {precision_at(pi):.3f}')

# %%
rng = np.random.default_rng(0)
benign, malignant = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
right = alarms = 0
areas = []
for _ in range(1000):
    few = rng.choice(malignant, 4, replace=False)
    kept = np.concatenate([benign, few])
    right, alarms = right + alarm[few].sum(), alarms + alarm[kept].sum()
    areas.append(area(*roc(p[kept], y[kept])))
print(f'with 4 malignant tumours: precision {right / alarms:.3f},'
      f' mean AUC {np.mean(areas):.3f}')

# %% mystnb={"image": {"alt": "Three curves of precision against recall. Up to a recall above one half all three are at one. Beyond it, the higher the base rate, the higher the curve: with 0.37 precision falls slowly, with 0.10 faster, and with 0.01 it drops at once and is near zero at the right. Dotted horizontal lines at the base rates mark a coin."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(5.2, 3))
false_rate, true_rate = roc(p, y)
for pi, colour in ((212 / 569, 'C0'), (0.1, 'C2'), (0.01, 'C1')):
    precisions = pi * true_rate[1:] / (pi * true_rate[1:] + (1 - pi) * false_rate[1:])
    ax.plot(true_rate[1:], precisions, color=colour, lw=1.4)
    ax.axhline(pi, ls=':', lw=1, color=colour)
    ax.text(0.01, pi + 0.015, f'base rate {pi:.2f}', color=colour)
ax.set(xlabel='recall', ylabel='precision', xlim=(0, 1.02), ylim=(0, 1.08), xticks=np.arange(0, 1.01, 0.25));

# %% [markdown] tags=["caption"]
# Precision against recall for three base rates: the same classifier and the same ROC curve. Beyond the first false alarm,
# the rarer the positives, the lower the precision.

# %% [markdown]
# In the clinic nine alarms in ten are right; in the screening only about one in eight, with the same recall and false
# positive rate. The mean AUC has hardly moved. So a precision, or an accuracy, says little without its base rate. A curve of
# precision against recall shows what the ROC curve hides when positives are rare.
#
# ```{exercise} ★★ Program: from the clinic to the street
# :label: clf-prevalence
# A test was tried in a clinic. Its confusion matrix `C` has the rows healthy and ill and the columns test negative and
# test positive. Now it is used in a population of which the share `pi` is ill. Write `precision_elsewhere(C, pi)`: what
# share of the people with a positive test is ill there?
# ```

# %%
def precision_elsewhere(C, pi):
    """The share of the ill among those with a positive test: a float.

    C (2, 2) is an array of counts, with people in both rows; pi is a float
    from 0 to 1, both included. Somebody tests positive there.
    precision_elsewhere(np.array([[9, 1], [1, 9]]), 0.5) is 0.9.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def by_counting_people(C, pi, people=10**6):
    ill, healthy = pi * people, (1 - pi) * people
    true_alarms = ill * C[1, 1] / (C[1, 0] + C[1, 1])
    false_alarms = healthy * C[0, 1] / (C[0, 0] + C[0, 1])
    return true_alarms / (true_alarms + false_alarms)

clinics = dict(
    C=counts(4, 0, 100).map(lambda c: c.reshape(2, 2)).filter(lambda C: C.any(1).all() and C[:, 1].any()),
    pi=lambda C: (on(0.5, 1.0, 0.0) | scalars(0, 1)).filter(lambda pi: pi * C[1, 1] + (1 - pi) * C[0, 1] > 0),
)
grade(precision_elsewhere, by_counting_people, **clinics)

# %% [markdown]
# ```{solution-start} clf-prevalence
# :class: dropdown
# ```
# The rates of a *row* belong to the test and do not change. The shares of a *column* change with the share of the ill. So
# take the true and the false positive rate from the rows and put them into {eq}`clf-precision` with the new $\pi$. If these
# rates are 95 % and 10 %, and half of the people in the clinic are ill, the precision there is $0.95/(0.95 + 0.1) \approx
# 0.90$. With one ill person in a hundred it is $0.0095/(0.0095 + 0.099) \approx 0.088$. A tempting mistake is to multiply
# the precision of the clinic by the ratio of the base rates. It is wrong as well to keep the precision of the clinic, or to
# take the rates from the columns.

# %% jupyter={"source_hidden": true}
def precision_elsewhere_solution(C, pi):
    fpr, tpr = C[:, 1] / C.sum(1)
    return pi * tpr / (pi * tpr + (1 - pi) * fpr)

def of_the_clinic(C, pi):
    return C[1, 1] / C[:, 1].sum()

def scaled_by_the_rate(C, pi):
    return C[1, 1] / C[:, 1].sum() * pi / (C[1].sum() / C.sum())

def rates_of_columns(C, pi):
    tpr, fpr = C[1, 1] / C[:, 1].sum(), C[1, 0] / C[:, 0].sum()
    return pi * tpr / (pi * tpr + (1 - pi) * fpr)

assert grade(precision_elsewhere_solution, by_counting_people, **clinics)
assert not grade(of_the_clinic, by_counting_people, **clinics)
assert not grade(scaled_by_the_rate, by_counting_people, **clinics)
assert not grade(rates_of_columns, by_counting_people, **clinics)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def precision_agrees(seed, q, base_rate):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1, 1, 0], rng.random(60) < q) * 1
    alarm = np.append([False, True, False, True], rng.random(60) < 0.2 + 0.5 * y[4:])
    tpr, fpr, pi = alarm[y == 1].mean(), alarm[y == 0].mean(), base_rate(y)
    return close(pi * tpr / (pi * tpr + (1 - pi) * fpr), metrics.precision_score(y, alarm))

verify(
    'rates and base rate give the precision of scikit-learn',
    lambda seed, q: precision_agrees(seed, q, lambda y: y.mean()),
    slip=('takes equal classes for granted', lambda seed, q: precision_agrees(seed, q, lambda y: 0.5)),
    seed=seeds(), q=scalars(0.05, 0.9), tries=40,
)

verify(
    'the formula gives the precision that is measured with 4 malignant tumours in 361',
    lambda: bool(abs(right / alarms - precision_at(4 / 361)) < 0.005),
    slip=('forgets to change the base rate', lambda: bool(abs(right / alarms - precision_at(212 / 569)) < 0.005)),
)

# %% [markdown]
# ## Calibration and cost: which threshold?
#
# A missed cancer is worse than a false alarm. Let a false negative cost $c_{\text{FN}}$, a false positive
# $c_{\text{FP}}$, and a right answer nothing. If a tumour is malignant with probability $p$, the alarm costs $(1 - p) \,
# c_{\text{FP}}$ on average, and no alarm costs $p \, c_{\text{FN}}$. So we should raise the alarm if
#
# ```{math}
# :label: clf-threshold
# p > \frac{c_{\text{FP}}}{c_{\text{FP}} + c_{\text{FN}}} .
# ```
#
# If a missed cancer costs as much as 50 false alarms, the threshold is $1/51 \approx 0.02$. We try it:

# %%
def cost(p, c_fn, threshold):  # in false alarms
    alarm = p > threshold
    return c_fn * (~alarm & (y == 1)).sum() + (alarm & (y == 0)).sum()

print('total cost          threshold 1/2   threshold 1/51')
for name, score in models.items():
    print(f'{name:24} {cost(score, 50, 1 / 2):7} {cost(score, 50, 1 / 51):16}')
print(f'{"alarm for everybody":24} {cost(p, 50, -1):7}')

# %% [markdown]
# Lowering the threshold saves much of the cost. But now the worse ranking wins clearly, and naive Bayes costs more than
# alarming everybody. The reason is that {eq}`clf-threshold` needs the true probability. A classifier is **calibrated** if,
# among all tumours that get the probability $p$, the share $p$ is malignant. So we sort the tumours into bins by their
# predicted probability:

# %%
def calibration(p, y, edges):
    """Number, mean prediction and share of positives in each bin."""
    inner = np.asarray(edges[1:-1], p.dtype)
    one_hot = np.eye(len(edges) - 1)[np.digitize(p, inner)]  # (n, bins)
    count = one_hot.sum(0).astype(int)
    said, share = (np.stack([p, y]) @ one_hot / count).astype(p.dtype)
    return count, said, share

# %%
edges = [0, 0.05, 0.3, 0.7, 0.95, 1]
for name, score in models.items():
    print(name)
    for count, said, share in zip(*calibration(score, y, edges)):
        print(f'  {count:3} tumours:'
              f' predicted {said:.3f}, malignant {share:.3f}')

# %% [markdown]
# Logistic regression is well calibrated. Naive Bayes gives 348 tumours a mean probability of 0.002, but 0.055 of them are
# malignant. It treats ten measurements of the same nuclei as independent, so the same evidence counts several times. One
# remedy is to learn which share of malignant tumours belongs to each score. A function from scores to shares that never
# falls, fitted by least squares, is called **isotonic regression**. scikit-learn fits it inside the training folds:

# %%
repaired = CalibratedClassifierCV(GaussianNB(), method='isotonic')
recipes = {'logistic, 2 columns': (logistic, 2),
           'naive Bayes, 10 columns': (GaussianNB(), 10),
           'the same, calibrated': (repaired, 10)}
costs, predicted = {}, {}
print('means of five splits         AUC    cost   (least, largest)')
for name, (model, columns) in recipes.items():
    predicted[name] = [predict(model, columns, seed) for seed in range(5)]
    auc = np.mean([metrics.roc_auc_score(y, q) for q in predicted[name]])
    costs[name] = [cost(q, 50, 1 / 51) for q in predicted[name]]
    print(f'{name:26} {auc:.3f} {np.mean(costs[name]):7.0f}'
          f'   ({min(costs[name])}, {max(costs[name])})')

# %%
thresholds = np.geomspace(1e-6, 0.9, 200)
first = predicted['naive Bayes, 10 columns'][0]
tried = [cost(first, 50, t) for t in thresholds]
print(f'naive Bayes, first split: at the threshold'
      f' {thresholds[np.argmin(tried)]:.5f} it would cost {min(tried)}')

# %% mystnb={"image": {"alt": "Left: share of malignant tumours against predicted probability with a dotted diagonal. Naive Bayes lies above the diagonal on the left and below it on the right; logistic regression and calibrated naive Bayes lie near it. Right: cost against the threshold on a logarithmic axis; at one in 51 logistic regression and calibrated naive Bayes are near their lowest points, naive Bayes is far above its own, which lies near 0.00001 and is the lowest of the three."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=3)
colours = dict(zip(recipes, ('C0', 'C1', 'C2')))
wide = [0, 0.1, 0.35, 0.65, 0.9, 1]
for name, colour in colours.items():
    q = predicted[name][0]
    count, said, share = calibration(q, y, wide)
    left.plot(said, share, 'o-', color=colour, ms=4)
    right.plot(thresholds, [cost(q, 50, t) for t in thresholds], color=colour, lw=1.4)
    right.plot(1 / 51, cost(q, 50, 1 / 51), 'o', color=colour)
left.plot([0, 1], [0, 1], ':', color=GREY)
left.text(0.98, 0.18, 'logistic', color='C0', ha='right')
left.text(0.98, 0.1, 'naive Bayes', color='C1', ha='right')
left.text(0.98, 0.02, 'calibrated', color='C2', ha='right')
left.set(xlabel='predicted probability', ylabel='share of malignant tumours', xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
right.set(xscale='log', xlabel='threshold', title='cost in false alarms', ylim=(0, 1600));

# %% [markdown] tags=["caption"]
# Left: calibration removes most of naive Bayes' overconfidence. Right: the cost at each threshold. The dots mark the
# threshold of the formula. For naive Bayes it is far from the cheapest one.

# %% [markdown]
# Calibrated naive Bayes costs less than half as much as before, about as little as logistic regression. Its AUC is a little
# lower than before, so it does not win by a better ranking. The other remedy is to choose the threshold on held-out data.
# The printed one was chosen in hindsight, so its cost promises too much. Before you ask which classifier is best, you have
# to say for what.
#
# ```{exercise} ★★ Experiment: balanced classes
# :label: measure-balanced
# It is common advice to give both classes the same total weight in training: `LogisticRegression(class_weight='balanced')`.
# Do this with two columns. First predict for the malignant class at the threshold $\frac12$: do recall, precision and the
# mean predicted probability go `'up'` or `'down'`? Return the three words in this order. Then try it with `predict`. What
# happens to the AUC?
# ```

# %%
def three_words():
    """Three words in a list: for recall, precision, mean probability.

    Each is 'up' or 'down': ['up', 'up', 'up'], for example.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def summary(q):
    C = confusion(y, (q > 0.5).astype(int), 2)
    recall, precision = recall_precision(C)
    return np.array([recall[1], precision[1], q.mean()])

balanced = predict(make_pipeline(StandardScaler(), LogisticRegression(class_weight='balanced')), 2)
before, after = summary(p), summary(balanced)

def is_measured(words):
    if len(words) != 3 or not set(words) <= {'up', 'down'}:
        raise ValueError("give three words, each 'up' or 'down'")
    if list(words) != ['up' if change > 0 else 'down' for change in after - before]:
        raise ValueError('something else is measured; try it and compare')
    return True

grade(lambda: is_measured(three_words()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} measure-balanced
# :class: dropdown
# ```
# The weights tell the model that half of the tumours are malignant. Its probabilities rise, recall rises and precision
# falls, as if the threshold had been lowered. The AUC hardly changes, because the ranking is nearly the same. What is
# lost is the calibration: the mean probability is no longer the base rate. It is clearer to train with the true weights
# and to choose the threshold by {eq}`clf-threshold`.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured(['up', 'down', 'up']), lambda: True, [()])
for wrong in (
    ['up'] * 3,
    ['up', 'down', 'down'],
    ['down', 'up', 'down'],
    ['up', 'down'],
    ['up', 'down', 'same'],
    None,
):
    assert not grade(lambda: is_measured(wrong), lambda: True, [()])
for name, values, q in (('plain', before, p), ('balanced', after, balanced)):
    print(
        f'{name:8} recall {values[0]:.3f}, precision {values[1]:.3f}, '
        f'mean probability {values[2]:.3f},'
        f' AUC {metrics.roc_auc_score(y, q):.3f}'
    )

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def decides_right(c_fp, c_fn, p, formula):  # at the threshold both answers cost the same, above it the alarm costs less
    t = formula(c_fp, c_fn)
    return close((1 - t) * c_fp, t * c_fn) and (p > t) == ((1 - p) * c_fp < p * c_fn)

verify(
    'at the threshold of the formula an alarm costs as much as no alarm, and above it less',
    lambda c_fp, c_fn, p: decides_right(c_fp, c_fn, p, lambda c_fp, c_fn: c_fp / (c_fp + c_fn)),
    slip=('exchanges the two costs',
          lambda c_fp, c_fn, p: decides_right(c_fp, c_fn, p, lambda c_fp, c_fn: c_fn / (c_fp + c_fn))),
    c_fp=scalars(0.1, 10), c_fn=scalars(0.1, 10), p=scalars(0.01, 0.99), tries=60,
)

def bins_agree(seed, n, top, of):  # with the factor 0.5 the upper bins are empty
    rng = np.random.default_rng(seed)
    p = top * np.append(np.arange(5) / 5 + 0.1, rng.random(n))
    y = np.append([0, 1, 0, 1, 1], rng.random(n) < p[5:]) * 1
    with np.errstate(invalid='ignore'):
        count, said, share = calibration(p, y, np.linspace(0, 1, 6))
    theirs = calibration_curve(y, p, n_bins=5)
    return count.sum() == n + 5 and close(of(said[count > 0], share[count > 0]), theirs)

verify(
    'the bins are those of scikit-learn',
    lambda seed, n, top: bins_agree(seed, n, top, lambda said, share: (share, said)),
    slip=('exchanges prediction and share',
          lambda seed, n, top: bins_agree(seed, n, top, lambda said, share: (said, share))),
    seed=seeds(), n=[0, 5, 100], top=[1, 0.5], tries=40,
)
verify(
    'at the threshold of the formula naive Bayes costs most in each of five splits',
    lambda worst, other: min(costs[worst]) > max(costs[other]),
    slip=('says that it costs least', lambda worst, other: max(costs[worst]) < min(costs[other])),
    worst=['naive Bayes, 10 columns'], other=['logistic, 2 columns', 'the same, calibrated'],
)

# %% [markdown]
# ## Summary
#
# A confusion matrix counts errors by kind; recall divides by the sum of a row and precision by that of a column. The ROC
# curve and its area judge the ranking alone, whatever the base rate, while precision and accuracy change with the base rate.
# With calibrated probabilities the best threshold follows from the costs of both errors; otherwise it is chosen on held-out
# data.
#
# **Further reading.** {cite:t}`fawcett2006introduction` is the standard introduction to ROC curves;
# {cite:t}`guo2017calibration` shows that large networks are badly calibrated, and how one number repairs most of it;
# {cite:t}`street1993nuclear` tells where the table comes from.
