# ---
# jupyter:
#   book:
#     functions:
#       folds: folds(np.arange(10), 3)
#       rounds: rounds(folds(np.arange(10), 3))
#       cross_validate: cross_validate(standardized_ridge(0.5), normal(20, 3), normal(20), folds(np.arange(20), 4), squared)
#       standardized_ridge: standardized_ridge(0.5)(normal(20, 3), normal(20))(normal(5, 3))
#       squared: squared(normal(5), normal(5))
#       correlations: correlations(normal(20, 3), normal(20))
#       most_correlated: most_correlated(normal(20, 6), normal(20), 3)
#       nearest_mean: nearest_mean(normal(20, 3), np.arange(20) % 4)(normal(5, 3))
#       correct: correct(np.arange(3), np.ones(3))
#       ridge_hat: ridge_hat(normal(20, 3), 0.5)
#       fold_errors: fold_errors(ridge_hat(normal(20, 3), 0.5), normal(20), folds(np.arange(20), 4))
#       on_feature: on_feature(1)(normal(20, 3), normal(20))(normal(5, 3))
#       smallest_error: smallest_error([on_feature(0), on_feature(1)], normal(20, 3), normal(20), folds(np.arange(20), 4))
#       best_of: best_of([on_feature(0), on_feature(1)], 4)(normal(20, 3), normal(20))(normal(5, 3))
#       nested: nested([on_feature(0), on_feature(1)], normal(20, 3), normal(20), folds(np.arange(20), 4))
#       standard_errors: standard_errors(normal(4, 5, 6))
#       two_rules: two_rules(normal(4, 5, 6))
#     main: dl.crossval.average
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Cross-validation
#
# Fifty people, 2500 genes, a disease. We keep the twenty genes that are most correlated with the disease, classify by them,
# and find an accuracy of 96 % in five-fold cross-validation. But the genes are random numbers and the disease is a coin. How
# can we tell how well a model will do on new data, when there are no data to spare, without fooling ourselves?
#
# - **You need** [linear regression](linear_regression.ipynb), [ridge regression](ridge_regression.ipynb) and
#   [generalization](generalization.ipynb).
# - **You build** $k$-fold cross-validation that cannot leak, a leak that finds 96 % accuracy in pure noise, all left-out
#   errors from one fit, and nested cross-validation.
# - **Runs in** 10 seconds.

# %% tags=["remove-cell"]
try:
    import nbutils  # noqa: F401
except ImportError:  # on a hosted notebook: install it and leave its torch alone
    import subprocess
    import sys

    address = 'https://github.com/deep-learning-verified/book/archive/refs/tags/v0.2.0.zip'
    subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', f'nbutils @ {address}'], check=True)

# %% tags=["hide-input"]
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from numpy.linalg import norm, qr, solve
from numpy.polynomial.legendre import legvander
from scipy.stats import binom, sem
from sklearn import model_selection as sk
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nbutils.cases import counts, integers, matrices, on, scalars, seeds, vectors
from nbutils.checks import close, grade, holds, verify
from nbutils.data import diabetes
from nbutils.figures import GREY, panels

plt.style.use('nbutils.book')

# %% [markdown]
# ## K-fold cross-validation: every example is validated once
#
# The error on the training data is too low. So we hold out part of the data, and judge the model on examples that it has not
# seen. With 442 diabetes patients this is a hard bargain: the patients that are held out cannot be used for training, and
# few patients make an unreliable judge. Here is one model, judged on five different random fifths:

# %%
X, y, _ = diabetes()
model = make_pipeline(StandardScaler(), Ridge(10.0))
for seed in range(5):
    X_train, X_held, y_train, y_held = sk.train_test_split(
        X, y, test_size=0.2, random_state=seed)
    guess = model.fit(X_train, y_train).predict(X_held)
    print(f'split {seed}: root mean squared error '
          f'{((guess - y_held) ** 2).mean() ** 0.5:.1f}')

# %% [markdown]
# *Cross-validation* uses every example for both, in turns. Partition the numbers $1, \dots, N$ into $k$ *folds* of nearly
# the same size,
#
# ```{math}
# :label: dl.crossval.partition
# \begin{gathered}
# F_1 \cup \dots \cup F_k = \{1, \dots, N\} , \\
# F_i \cap F_j = \emptyset , \quad \big| |F_i| - |F_j| \big| \le 1 \quad (i \ne j) ,
# \end{gathered}
# ```
#
# and make $k$ steps. In step $i$ train on
#
# ```{math}
# :label: dl.crossval.rounds
# T_i = \{1, \dots, N\} \setminus F_i ,
# ```
#
# and validate on $F_i$. Each example is validated once and takes part in training $k - 1$ times. The result is the average
# over the $k$ steps, here of the validation errors (and likewise of the training errors), with $f_i$ fitted on $T_i$ and
# the loss $\ell$:
#
# ```{math}
# :label: dl.crossval.average
# \mathrm{CV}_k = \frac1k \sum_{i=1}^k \frac{1}{|F_i|} \sum_{n \in F_i} \ell\big(f_i(\mathbf{x}_n), y_n\big) .
# ```
#
# Data often come sorted, so shuffle first. The folds are then consecutive pieces of a random order.

# %%
def folds(order, k):  # (N,) -> k arrays
    sizes = len(order) // k + (np.arange(k) < len(order) % k)
    return np.split(order, sizes.cumsum()[:-1])

def rounds(parts):  # -> (training, validation) for each step
    everyone = np.sort(np.concatenate(parts))
    return [(np.setdiff1d(everyone, part), part) for part in parts]

# %%
def cross_validate(fit, X, y, parts, loss):  # -> (k, 2)
    rows = []
    for train, part in rounds(parts):
        predict = fit(X[train], y[train])
        rows.append([loss(predict(X[p]), y[p]).mean() for p in (train, part)])
    return np.array(rows)  # training errors, validation errors

# %% [markdown]
# Here `fit` receives training examples and returns a function. Whatever it wants to know about the data, means and standard
# deviations included, it must learn from these examples and carry along in that function. Ridge regression on standardized
# features becomes

# %%
def standardized_ridge(alpha):
    def fit(X, y):
        m, s = X.mean(axis=0), X.std(axis=0)
        Z = (X - m) / s
        one = np.eye(Z.shape[1], dtype=Z.dtype)
        w = solve(Z.T @ Z + alpha * one, Z.T @ (y - y.mean()))
        return lambda X: (X - m) / s @ w + y.mean()
    return fit

def squared(prediction, y):
    return (prediction - y) ** 2

# %%
parts = folds(np.arange(442), 5)  # in the order of the data
errors = cross_validate(standardized_ridge(10.0), X, y, parts, squared)
theirs = -sk.cross_val_score(model, X, y, cv=5,
                             scoring='neg_mean_squared_error')
print('fold    training  validation  scikit-learn')
for i in range(5):
    print(f'{i + 1:4} {errors[i, 0]:11.1f} {errors[i, 1]:11.1f} '
          f'{theirs[i]:13.1f}')
print(f'root of the mean validation error: {errors[:, 1].mean() ** 0.5:.1f}')

# %% [markdown]
# (If $k$ does not divide $N$, an average of averages is not quite the average over examples. We average over folds, as
# scikit-learn does.) How much steadier is the result? For each of 200 shuffles of the patients we take the first fold alone,
# 89 patients held out, and then all five:

# %%
table = np.array([
    cross_validate(standardized_ridge(10.0), X, y, folds(
        np.random.default_rng(seed).permutation(442), 5), squared)[:, 1]
    for seed in range(200)])  # (200, 5)
alone, together = np.sqrt(table[:, 0]), np.sqrt(table.mean(axis=1))
for name, values in (('one fold ', alone), ('five folds', together)):
    low, high = np.quantile(values, (0.05, 0.95))
    print(f'{name}: RMSE {low:.1f} to {high:.1f} in 90 % of the shuffles')
print(f'always predicting the mean: {y.std():.1f}')

# %% mystnb={"image": {"alt": "Left: a grid of five rows, the steps, and five columns, the folds; the validation fold runs along the diagonal, the others train. Right: histograms of the error over 200 shuffles: one fold spreads from 48 to 63, five folds together make a needle at 55."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.6)
for row in range(5):
    for column in range(5):
        left.barh(row, 0.94, left=column, height=0.8, color='C1' if row == column else 'C0', alpha=0.3)
        left.text(column + 0.47, row, 'validate' if row == column else 'train', ha='center', va='center', fontsize=8)
left.set(xticks=np.arange(5) + 0.47, yticks=range(5),
         xticklabels=[f'$F_{i}$' for i in range(1, 6)],
         yticklabels=[f'step {i}' for i in range(1, 6)])
left.invert_yaxis()
left.spines[:].set_visible(False)
left.tick_params(length=0)
bins = np.arange(46, 65, 0.5)
right.hist(alone, bins, color='C1', label='one fold')
right.hist(together, bins, color='C0', label='five folds')
right.set(xlabel='RMSE of the same model', ylabel='shuffles')
right.legend();

# %% [markdown] tags=["caption"]
# Left: each fold is validated once and used for training four times. Right: over 200 shuffles one fold reports an RMSE of 50
# or of 60, the five together always about 55.

# %% [markdown]
# With a single split we could report an error of 50 or one of 60 and be honest both times. The five folds together
# hardly depend on the shuffle. (That is not the whole uncertainty, because the patients are themselves a random sample. The
# third part measures it.)
#
# ### Stratified folds: each class in equal shares
#
# In classification a random fold may miss a rare class. *Stratified* folds divide each class evenly: put the labels in
# order of class and deal them to the folds one after the other, like cards. The shares of two folds in one class then
# differ by one at most. In scikit-learn this is `StratifiedKFold`:

# %% tags=["hide-input"]
grower = load_wine().target  # three classes, in order
for name, rule in (('plain', sk.KFold(5)), ('stratified', sk.StratifiedKFold(5))):
    shares = (np.bincount(grower[F], minlength=3).tolist() for _, F in rule.split(grower, grower))
    print(f'{name:10} folds, wines of each grower:', *shares)

# %% [markdown]
# ```{exercise} ★ Pencil: the mean, left out
# :label: cross_validation-mean
# The humblest model predicts the mean of its training targets. Find a formula for its leave-one-out error ($k = N$, squared
# loss): `mean_left_out(y)`. What is the correlation of the left-out predictions with the targets?
# ```

# %%
def mean_left_out(y):
    """The mean of the squared leave-one-out errors: a float.

    y: float array (N,), N >= 2. At most three lines may run.
    For y = [1., 4.] the result is 9.0.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def mean_by_steps(y):
    return np.mean([(y[n] - np.delete(y, n).mean()) ** 2
                    for n in range(len(y))])

targets = dict(y=vectors((2, 9), edges=True) | vectors(2))
grade(mean_left_out, mean_by_steps, **targets, lines=3)

# %% [markdown]
# ```{solution-start} cross_validation-mean
# :class: dropdown
# ```
# The mean without $y_n$ is $(N\bar y - y_n)/(N - 1)$, so the error is $\frac{N}{N - 1}(y_n - \bar y)$. The prediction
# falls when $y_n$ rises: the correlation is exactly $-1$! Left-out predictions of a model without skill are not
# uncorrelated with the truth; remember it when a score is *worse* than chance. It is tempting to take the factor without its
# square, which gives the usual estimate of the variance. The second wrong answer is the training error, and the third uses
# no formula.

# %% jupyter={"source_hidden": true}
def mean_left_out_solution(y):
    return (len(y) / (len(y) - 1)) ** 2 * y.var()

def factor_not_squared(y):
    return len(y) / (len(y) - 1) * y.var()

def training_error(y):
    return y.var()

def one_by_one(y):
    total = 0
    for n in range(len(y)):
        total += (y[n] - np.delete(y, n).mean()) ** 2
    return total / len(y)

assert grade(mean_left_out_solution, mean_by_steps, **targets, lines=3)
assert not grade(factor_not_squared, mean_by_steps, **targets, lines=3)
assert not grade(training_error, mean_by_steps, **targets, lines=3)
assert not grade(one_by_one, mean_by_steps, **targets, lines=3)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def partition(N, k, seed, folds):
    parts = folds(np.random.RandomState(seed).permutation(N), k)
    theirs = sk.KFold(k, shuffle=True, random_state=seed).split(np.zeros(N))
    sizes = [len(part) for part in parts]
    whole = np.array_equal(np.sort(np.concatenate(parts)), np.arange(N))
    same = all(np.array_equal(np.sort(ours), test)
               for ours, (_, test) in zip(parts, theirs, strict=True))
    return whole and same and max(sizes) - min(sizes) <= 1

def lossy(order, k):
    size = len(order) // k
    return [order[i * size:(i + 1) * size] for i in range(k)]

def once_each(N, k, seed, steps):
    taught, judged = np.zeros((2, N), int)
    apart = True
    for train, part in steps(N, k, seed):
        taught[train] += 1
        judged[part] += 1
        apart = apart and not np.isin(part, train).any()
    return bool(apart and (judged == 1).all() and (taught == k - 1).all())

def in_turns(N, k, seed):
    return rounds(folds(np.random.default_rng(seed).permutation(N), k))

def a_new_draw(N, k, seed):
    return sk.ShuffleSplit(k, test_size=1/k, random_state=seed).split(range(N))

def averages(seed, cross_validate):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(2, 3, (23, 4)), rng.normal(size=23)
    ours = cross_validate(standardized_ridge(3.0), X, y,
                          folds(np.arange(23), 5), squared)
    theirs = sk.cross_validate(
        make_pipeline(StandardScaler(), Ridge(3.0)), X, y, cv=5,
        scoring='neg_mean_squared_error', return_train_score=True)
    want = -theirs['train_score'].mean(), -theirs['test_score'].mean()
    return close(ours.mean(axis=0), want)

def fitted_before(fit, X, y, parts, loss):
    predict = fit(X, y)
    return cross_validate(lambda *_: predict, X, y, parts, loss)
holds('dl.crossval.partition', lambda N, k, seed: partition(N, k, seed, folds),
      slip=('loses the remainder when k does not divide N',
            lambda N, k, seed: partition(N, k, seed, lossy)),
      N=integers(10, 60), k=integers(2, 10), seed=integers(0, 99), tries=100)

holds('dl.crossval.rounds', lambda N, k, seed: once_each(N, k, seed, in_turns),
      slip=('draws a new random part in every step',
            lambda N, k, seed: once_each(N, k, seed, a_new_draw)),
      N=integers(10, 60), k=integers(2, 10), seed=integers(0, 99), tries=100)

holds('dl.crossval.average', lambda seed: averages(seed, cross_validate),
      slip=('fits the model once, before the loop',
            lambda seed: averages(seed, fitted_before)),
      seed=seeds(), tries=10)

# %% tags=["checks"]
def fair(seed, k, rule):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1, 2], rng.choice(3, 40, p=[0.6, 0.1, 0.3]))
    y = np.append(y, np.arange(3).repeat(k))  # enough of each class
    shares = [np.bincount(y[F], minlength=3) for _, F in rule(k).split(y, y)]
    return bool((np.ptp(shares, axis=0) <= 1).all())

verify('the shares of two stratified folds in a class differ by one at most',
       lambda seed, k: fair(seed, k, sk.StratifiedKFold),
       slip=('cuts the data in order, without regard to class', lambda seed, k: fair(seed, k, sk.KFold)),
       seed=seeds(), k=[2, 3, 5], tries=60)

verify(
    'the validation errors of five folds are those of cross_val_score',
    lambda column: close(errors[:, column], theirs),
    slip=('takes the training errors', lambda column: close(errors[:, column - 1], theirs)),
    column=[1],
)
verify(
    'the mean of five folds spreads a fifth as much as one fold, or less',
    lambda: bool(5 * together.std() < alone.std()),
    slip=('exchanges the two', lambda: bool(5 * alone.std() < together.std())),
)

# %% [markdown]
# ## Data leakage: choose features inside the folds
#
# This section continues [K-fold cross-validation: every example is validated
# once](#k-fold-cross-validation-every-example-is-validated-once). Here are the genes and the disease of the opening: random
# numbers and fair coins. We keep the twenty genes most correlated with the disease, and classify by the nearest class mean.

# %%
def correlations(X, y):  # absolute values (p,)
    C, t = X - X.mean(axis=0), y - y.mean()
    return abs(t @ C) / (norm(C, axis=0) * norm(t))

def most_correlated(X, y, m):  # -> m column numbers
    return np.sort(correlations(X, y).argsort(kind='stable')[-m:])

# %%
def nearest_mean(X, y):  # labels 0, 1, ...
    centres = np.stack([X[y == c].mean(axis=0) for c in np.unique(y)])
    return lambda X: ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)

def correct(prediction, y):
    return prediction == y

def coins(seed, p):  # fifty people
    rng = np.random.default_rng(seed)
    return rng.normal(size=(50, p)), rng.integers(0, 2, 50)

# %% [markdown]
# The two procedures differ in one place. Either the genes are chosen first, by all fifty labels, or they are chosen inside
# `fit`, by the labels of the training people:

# %%
def with_leak(X, y, parts):
    chosen = X[:, most_correlated(X, y, 20)]  # by all labels
    return cross_validate(nearest_mean, chosen, y, parts, correct)[:, 1]

def choose_and_classify(X, y):
    chosen = most_correlated(X, y, 20)  # by the training labels
    predict = nearest_mean(X[:, chosen], y)
    return lambda X: predict(X[:, chosen])

def without_leak(X, y, parts):
    return cross_validate(choose_and_classify, X, y, parts, correct)[:, 1]

# %%
sizes, tries = (20, 100, 500, 2500), range(400, 440)
scores = np.array([[[rule(*coins(seed, p), folds(np.arange(50), 5)).mean()
                     for rule in (with_leak, without_leak)]
                    for seed in tries] for p in sizes])  # (4, 40, 2)
for p, (leak, honest) in zip(sizes, scores.mean(axis=1)):
    print(f'{p:4} genes: chosen first {leak:.2f}, inside {honest:.2f}')
tops = [np.sort(correlations(*coins(seed, 2500)))[-20:] for seed in tries]
largest, twentieth = np.mean(tops, axis=0)[[-1, 0]]
print(f'correlations of the twenty of 2500: {twentieth:.2f} to {largest:.2f}')

# %% mystnb={"image": {"alt": "Accuracy on coin flips against the number of genes. With the leak it climbs from one half at 20 genes to 0.96 at 2500; chosen inside the folds it stays at one half throughout. Shaded bands hold the middle four fifths of 40 data sets."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
for k, name in enumerate(('chosen before the folds', 'chosen inside')):
    low, high = np.quantile(scores[:, :, k], (0.1, 0.9), axis=1)
    ax.fill_between(sizes, low, high, color=f'C{1 - k}', alpha=0.2, lw=0)
    ax.semilogx(sizes, scores[:, :, k].mean(axis=1), f'C{1 - k}o-', label=name)
ax.axhline(0.5, color=GREY, ls='--', lw=1)
ax.set(xlabel='genes to choose from', ylabel='accuracy on coins',
       ylim=(0.25, 1.02), xticks=sizes, xticklabels=sizes)
ax.minorticks_off()
ax.legend(loc='upper left');

# %% [markdown] tags=["caption"]
# Fifty coin flips seem predictable when twenty genes are chosen by all labels, the more so the more there are; chosen inside
# the folds, accuracy stays near one half.

# %% [markdown]
# :::{admonition} A tempting mistake
# :class: warning
# The folds were right, but the genes had been chosen *with the labels of the validation people*. Among 2500 columns of
# noise, those were kept that happen to agree with all fifty labels. Each correlation is of the order $1/\sqrt{50} \approx
# 0.14$, but the largest of $p$ grows like $\sqrt{2 \ln p / N}$ ([concentration](../probability/concentration.ipynb)), and
# all twenty come from the tail.
# :::
#
# Choosing is learning, so it belongs into `fit`. Then no procedure, however clever, can find anything in coins:
#
# ````{prf:theorem} Nobody beats a coin
# :label: thm-coin
# Let the labels be fair coins, independent of each other, of all inputs and of the folds. If every $f_i$ is computed from
# the examples in $T_i$ alone, by whatever procedure, then $\mathrm{CV}_k$ with the accuracy for $\ell$ has the expectation
# $\frac12$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# Take $n \in F_i$. The prediction $f_i(\mathbf{x}_n)$ is a function of the inputs and of the labels in $T_i$, all of
# which are independent of $y_n$. Given them, it is a fixed label, and $y_n$ agrees with it with probability $\frac12$.
# So each term of {eq}`dl.crossval.average` has the expectation $\frac12$, hence their average.
# ````
#
# In scikit-learn a *pipeline* does this: it learns the choice of the features together with the classifier.

# %%
X, y = coins(400, 2500)
pipeline = make_pipeline(SelectKBest(k=20), NearestCentroid())
print('scikit-learn:', sk.cross_val_score(pipeline, X, y, cv=sk.KFold(5)))
print('ours:        ', without_leak(X, y, folds(np.arange(50), 5)))

# %% [markdown]
# Published studies of gene expression have made this very mistake {cite}`ambroise2002selection`. It has milder forms. Means
# and standard deviations from all the data use inputs, not labels. For the 442 patients they change the estimate by less
# than one percent, as an experiment below shows. But you need not argue case by case if all is
# done inside. On real labels, the wines (178 bottles, 13 measurements, three growers), standardizing helps:

# %%
wine, grower = load_wine(return_X_y=True)
contest = {
    'most frequent': DummyClassifier(), 'as they are': NearestCentroid(),
    'standardized': make_pipeline(StandardScaler(), NearestCentroid())}
for name, model in contest.items():
    score = sk.cross_val_score(model, wine, grower, cv=5)  # stratified
    print(f'{name:13}: accuracy {score.mean():.2f}')

# %% [markdown]
# ```{exercise} ★ Program: siblings stay together
# :label: cross_validation-groups
# Each patient came several times. If one visit trains and another validates, the model may recognize the patient. Write
# `group_folds(groups, k)`, which gives each example the number of its fold, so that no group is divided: take the groups
# by size, largest first (of equal ones the smaller number first), and put each into the fold that is emptiest so far (the
# first of several).
# ```

# %%
def group_folds(groups, k):
    """The fold of each example, counted from 0: an int array (N,).

    groups: int array (N,), N >= 1, the number of each example's group, >= 0;
    some numbers may be missing. k: int >= 1; there may be fewer groups.
    For groups = [0, 2, 2, 5] and k = 2 the result is [1, 0, 0, 1].
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def group_by_lists(groups, k):
    members = {g: [n for n, other in enumerate(groups) if other == g] for g in sorted({*groups})}
    piles = [[] for _ in range(k)]
    for g in sorted(members, key=lambda g: -len(members[g])):
        min(piles, key=len).extend(members[g])
    return [next(i for i, pile in enumerate(piles) if n in pile) for n in range(len(groups))]

visits = dict(groups=counts((1, 14), 0, 6), k=on(2, 1, 3) | integers(1, 5))
grade(group_folds, group_by_lists, **visits)

# %% [markdown]
# ```{solution-start} cross_validation-groups
# :class: dropdown
# ```
# `bincount` gives the sizes. It is tempting to deal the groups in the order of their names: nobody is divided, but the
# folds are of unequal size. The second wrong answer begins with the smallest groups, so that the largest comes last and
# unbalances the folds. The third cuts the sorted examples into equal pieces, and divides groups.

# %% jupyter={"source_hidden": true}
def group_folds_solution(groups, k):
    sizes, load = np.bincount(groups), np.zeros(k)
    fold_of = np.empty(len(sizes), int)
    for g in np.argsort(-sizes, kind='stable'):
        fold_of[g] = load.argmin()
        load[load.argmin()] += sizes[g]
    return fold_of[groups]

def dealt_by_name(groups, k):
    return groups % k

def smallest_first(groups, k):
    sizes, load = np.bincount(groups), np.zeros(k)
    fold_of = np.empty(len(sizes), int)
    for g in np.argsort(sizes, kind='stable'):
        fold_of[g] = load.argmin()
        load[load.argmin()] += sizes[g]
    return fold_of[groups]

def equal_pieces(groups, k):
    fold = np.empty(len(groups), int)
    fold[np.argsort(groups, kind='stable')] = np.arange(len(groups)) * k // len(groups)
    return fold

assert grade(group_folds_solution, group_by_lists, **visits)
assert not grade(dealt_by_name, group_by_lists, **visits)
assert not grade(smallest_first, group_by_lists, **visits)
assert not grade(equal_pieces, group_by_lists, **visits)

# %% [markdown]
# ```{solution-end}
# ```

# %% [markdown]
# ```{exercise} ★★ Experiment: which leaks deceive?
# :label: cross_validation-leaks
# Fifty people, coins, 500 genes. In `choose_and_classify` the choice stays inside. Before the folds we (A) standardize all
# genes, (B) keep the twenty genes of largest variance, (C) keep the twenty most correlated with the disease, (D) let each
# person come twice, the second time with noise of variance 1 added to the genes. Predict where the accuracy exceeds 0.6.
# ```

# %%
def predicted_leaks():
    """The letters among A to D that deceive: a string, for example 'AB'."""
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def prepared(letter, X, y, rng):  # what is done before the folds
    if letter == 'A':
        return (X - X.mean(axis=0)) / X.std(axis=0), y
    if letter == 'B':
        return X[:, X.std(axis=0).argsort(kind='stable')[-20:]], y
    if letter == 'C':
        return X[:, most_correlated(X, y, 20)], y
    order = rng.permutation(100)
    return np.vstack([X, X + rng.normal(size=X.shape)])[order], np.tile(y, 2)[order]

@cache
def accuracy(letter):  # the mean over 20 data sets
    found = []
    for seed in range(20):
        X, y = prepared(letter, *coins(seed, 500), np.random.default_rng(seed))
        found.append(cross_validate(choose_and_classify, X, y, folds(np.arange(len(y)), 5), correct)[:, 1].mean())
    return np.mean(found)

def is_measured(letters):
    if not {*letters} <= {*'ABCD'}:
        raise ValueError('give some of the letters A, B, C and D')
    if {*letters} != {letter for letter in 'ABCD' if accuracy(letter) > 0.6}:
        raise ValueError('something else is measured; run it and compare')
    return True

grade(lambda: is_measured(predicted_leaks()), lambda: True, [()])

# %% [markdown]
# ```{solution-start} cross_validation-leaks
# :class: dropdown
# ```
# Means, deviations and variances of all people use inputs alone. The coins do not depend on them, so nothing about the
# labels of the validation people gets through. (With a real target such a leak can do some harm; for the 442 patients it
# is the small number below.) In (C) the labels themselves decide. In (D) the second visit carries the label of the first
# into the training data.

# %% jupyter={"source_hidden": true}
assert grade(lambda: is_measured('CD'), lambda: True, [()])
assert not grade(lambda: is_measured('C'), lambda: True, [()])  # only the choice of features can leak
assert not grade(lambda: is_measured('ABCD'), lambda: True, [()])  # whatever is done before the folds
assert not grade(lambda: is_measured('BC'), lambda: True, [()])  # every choice of features leaks
print(', '.join(f'{letter} {accuracy(letter):.2f}' for letter in 'ABCD'))

X, y, _ = diabetes()
parts = folds(np.random.default_rng(0).permutation(442), 5)
Z = (X - X.mean(axis=0)) / X.std(axis=0)
early, inside = (
    cross_validate(fit, data, y, parts, squared)[:, 1].mean()
    for fit, data in ((lambda X, y: Ridge(10.0).fit(X, y).predict, Z), (standardized_ridge(10.0), X)))
print(f'patients, standardized before the folds: error off by {100 * (early / inside - 1):+.3f} %')

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def standardized_nearest_mean(X, y):
    m, s = X.mean(axis=0), X.std(axis=0)
    predict = nearest_mean((X - m) / s, y)
    return lambda X: predict((X - m) / s)

dealt = [F for _, F in sk.StratifiedKFold(5).split(wine, grower)]
assert close(score, cross_validate(standardized_nearest_mean, wine, grower, dealt, correct)[:, 1])

# %% tags=["checks"]
def like_a_coin(rule):  # within 5 standard errors
    means = [rule(*coins(seed, 100), folds(np.arange(50), 5)).mean()
             for seed in range(100, 300)]
    return bool(abs(np.mean(means) - 0.5) < 5 * sem(means))

def as_pipeline(seed, rule):
    X, y = coins(seed, 60)
    pipeline = make_pipeline(SelectKBest(k=20), NearestCentroid())
    want = sk.cross_val_score(pipeline, X, y, cv=sk.KFold(5))
    return close(rule(X, y, folds(np.arange(50), 5)), want)

verify('an honest procedure has accuracy 1/2 on coins',
       lambda: like_a_coin(without_leak),
       slip=('chooses the genes by all labels',
             lambda: like_a_coin(with_leak)))

verify('choosing inside the folds is scikit-learn\'s pipeline',
       lambda seed: as_pipeline(seed, without_leak),
       slip=('chooses the genes by all labels',
             lambda seed: as_pipeline(seed, with_leak)),
       seed=seeds(), tries=20)

verify(
    'of 2500 genes that mean nothing twenty look right by far, unless they are chosen inside the folds',
    lambda leak, honest: bool(scores[3, :, leak].mean() > 0.9 and abs(scores[3, :, honest].mean() - 0.5) < 0.06),
    slip=('trusts the genes that are chosen first', lambda leak, honest: bool(abs(scores[3, :, leak].mean() - 0.5) < 0.06)),
    leak=[0], honest=[1],  # 0.06: five standard errors of 40 × 50 coins
)

# %% [markdown]
# ## How many folds? Bias, variance and leave-one-out
#
# This section continues [K-fold cross-validation: every example is validated
# once](#k-fold-cross-validation-every-example-is-validated-once). Should we take two folds, or $N$? More folds cost more.
# What do they bring? Let $R_n$ be the *risk* of the procedure with $n$ training examples: its expected loss on a new
# example, averaged over the training sets.
#
# ````{prf:theorem} What cross-validation estimates
# :label: thm-cv-expectation
# Let the examples be independent and identically distributed, let $k$ divide $N$ and the folds be chosen without looking
# at the examples. If the risks are finite, then
# $\ \mathbb{E}\,\mathrm{CV}_k = R_{N - N/k}$.
# ````
#
# ````{prf:proof}
# :class: dropdown
# In step $i$ the model is trained on $N - N/k$ independent examples and judged on examples independent of them. So every
# term of {eq}`dl.crossval.average` has the expectation $R_{N - N/k}$. The terms depend on each other, but
# expectations add all the same.
# ````
#
# What we want is mostly $R_N$, the risk of the model that will be used. So cross-validation is unbiased for a *smaller*
# sample size. As long as more data help, it is too pessimistic: most for $k = 2$, least for $k = N$ (*leave-one-out*). For
# least squares on $d$ Gaussian features of mean zero, without intercept, linear truth and noise of variance $\sigma^2$, all
# risks are known ([generalization](generalization.ipynb)):
#
# ```{math}
# :label: cv-ols-risk
# R_n = \sigma^2 \Big( 1 + \frac{d}{n - d - 1} \Big) \qquad (n > d + 1) .
# ```

# %%
def risk(n, d):
    return 1 + d / (n - d - 1)

print('N = 40 examples, d = 8 features: expected result of')
for k in (2, 5, 10, 40):
    print(f'{k:3} folds {risk(40 - 40 / k, 8):.3f}')
print(f'risk with all 40 examples {risk(40, 8):.3f}')

# %% [markdown]
# ### Leave-one-out without refitting: all fold errors from one fit
#
# To measure the variance over thousands of data sets, we need the fold errors fast. For ridge regression and least
# squares, which are linear in the targets, $\hat{\mathbf{y}} = \mathbf{H}\mathbf{y}$, one fit gives them all. [Ridge
# regression](ridge_regression.ipynb) showed this for one example at a time. It works for whole folds, too:
#
# ````{prf:theorem} The fold shortcut
# :label: thm-fold-shortcut
# Let $\mathbf{H}$ be the hat matrix of ridge regression with a fixed $\alpha > 0$, with or without a free bias, or of least
# squares. Let $F$ be a fold, not everything, such that the fit without $F$ is unique. Then $\mathbf{I} - \mathbf{H}_{FF}$ is
# invertible, and the left-out errors are
#
# $$ \mathbf{y}_F - \hat{\mathbf{y}}_F^{(-F)} = (\mathbf{I} - \mathbf{H}_{FF})^{-1} (\mathbf{y}_F - \hat{\mathbf{y}}_F) . $$
# ````
#
# ````{prf:proof}
# :class: dropdown
# Replace the targets in $F$ by the predictions $\mathbf{z} = \hat{\mathbf{y}}_F^{(-F)}$ and fit all examples. What was
# best without $F$ is still best: it is so on the others, and in $F$ it has no error. So the new fit predicts $\mathbf{z}$ in
# $F$; being linear in the targets, $\mathbf{z} = \hat{\mathbf{y}}_F + \mathbf{H}_{FF}(\mathbf{z} - \mathbf{y}_F)$. Subtract
# both sides from $\mathbf{y}_F$: $\;(\mathbf{I} - \mathbf{H}_{FF})(\mathbf{y}_F - \mathbf{z}) = \mathbf{y}_F -
# \hat{\mathbf{y}}_F$.
#
# Suppose $\mathbf{H}_{FF}\mathbf{v} = \mathbf{v}$, and let $\mathbf{u}$ be $\mathbf{v}$ in $F$ and zero elsewhere. The
# eigenvalues of the symmetric $\mathbf{H}$ lie in $[0, 1]$, so $\mathbf{u}^\top\mathbf{H}\mathbf{u} =
# \mathbf{u}^\top\mathbf{u}$ forces $\mathbf{H}\mathbf{u} = \mathbf{u}$. For ridge regression 1 is an eigenvalue only with a
# bias, and then with the eigenvector $\mathbf{1}$ alone, which is not zero outside $F$. For least squares
# $\mathbf{u} = \mathbf{X}\mathbf{w}$ with $\mathbf{X}\mathbf{w}$ zero outside $F$, so $\mathbf{w} = \mathbf{0}$ by
# uniqueness. Either way $\mathbf{v} = \mathbf{0}$.
# ````

# %%
def ridge_hat(X, alpha):  # with a free bias
    C = X - X.mean(axis=0)
    G = C.T @ C + alpha * np.eye(X.shape[1], dtype=C.dtype)
    return 1 / len(X) + C @ solve(G, C.T)

def fold_errors(H, y, parts):
    r = y - H @ y
    one = np.eye(len(y), dtype=H.dtype)
    return [solve((one - H)[np.ix_(F, F)], r[F]) for F in parts]

# %% [markdown]
# With $k = N$ this is what scikit-learn's `RidgeCV` does inside. For 120 of the patients it chooses the same $\alpha$ from
# the same errors, and so does `GridSearchCV`, which really fits 120 times for each $\alpha$.

# %%
X, y, _ = diabetes()
few = np.random.default_rng(0).permutation(442)[:120]
Z, target = X[few] / X.std(axis=0), y[few]  # fixed units, not fitted
alphas = np.array([1.0, 5.0, 25.0, 125.0])
library = RidgeCV(alphas, store_cv_results=True).fit(Z, target)

# %%
singles = np.arange(120)[:, None]
left_out = np.array([
    np.concatenate(fold_errors(ridge_hat(Z, a), target, singles))
    for a in alphas]) ** 2  # (4, 120)
print('ours   ', left_out.mean(axis=1).round(1), 'for alpha', alphas)
print('RidgeCV', library.cv_results_.mean(axis=0).round(1))

# %% [markdown]
# ### The bias and the variance of cross-validation, measured
#
# Now we take 4000 data sets of $N = 40$ examples with $d = 8$ features, and two procedures. One is least squares. The other
# is unstable: it looks for the single feature that fits best and uses that alone, while in truth all eight
# matter equally. For every $k$ that divides 40 we get 4000 values of $\mathrm{CV}_k$.

# %% tags=["hide-input"]
def fold_squares(Q, y, k):  # least squares on orthonormal columns (M, N, d), (M, N) -> mean of each fold (M, k)
    H, F = Q @ Q.mT, np.arange(y.shape[1]).reshape(k, -1)
    r = y - (H @ y[..., None])[..., 0]
    blocks = np.eye(F.shape[1]) - H[:, F[:, :, None], F[:, None, :]]
    return (solve(blocks, r[:, F][..., None])[..., 0] ** 2).mean(axis=2)

def squares_of_best_one(X, y, k):  # (M, N, d), (M, N) -> (M, k)
    A, t = X.reshape(len(X), k, -1, X.shape[2]), y.reshape(len(X), k, -1)  # by folds
    s, g = (A**2).sum(axis=2), (A.mT @ t[..., None])[..., 0]  # (M, k, d)
    s, g = s.sum(axis=1, keepdims=True) - s, g.sum(axis=1, keepdims=True) - g  # of the others
    j = (g**2 / s).argmax(axis=2)[..., None]
    x_j = np.take_along_axis(A, j[..., None], axis=3)[..., 0]
    return ((t - np.take_along_axis(g / s, j, axis=2) * x_j) ** 2).mean(axis=2)

ks = np.array([2, 4, 5, 8, 10, 20, 40])
rng = np.random.default_rng(0)
X, noise = rng.normal(size=(4000, 40, 8)), rng.normal(size=(4000, 40))
steady = [fold_squares(qr(X)[0], noise, k) for k in ks]
unstable = [squares_of_best_one(X, 0.3 * X.sum(axis=2) + noise, k) for k in ks]
cv = np.array([[s.mean(axis=1) for s in rule] for rule in (steady, unstable)])
mean, spread = cv.mean(axis=2), cv.std(axis=2)  # (2, 7)
print('   k  least squares: mean, theory, sd     one feature: sd')
for i in (0, 2, 4, 6):
    print(f'{ks[i]:4} {mean[0, i]:19.3f} {risk(40 - 40 / ks[i], 8):7.3f} {spread[0, i]:6.3f} {spread[1, i]:16.3f}')

# %% mystnb={"image": {"alt": "Left: mean of the cross-validation error of least squares against k: dots lie on the theoretical curve that falls from 1.73 at two folds towards the risk at 40 examples, 1.26. Right: standard deviation against k: for least squares it falls all the way; for the one-feature rule it falls to a minimum at 5 and rises again."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.7)
left.semilogx(ks, risk(40 - 40 / ks, 8), color=GREY, lw=1.2, label='$R_{N - N/k}$')
left.semilogx(ks, mean[0], 'C0o', label=r'mean of $\mathrm{CV}_k$')
left.axhline(risk(40, 8), color='C1', ls='--', lw=1.2, label='$R_N$')
left.set(xlabel='k', ylabel='squared error', title='Least squares')
left.legend()
right.semilogx(ks, spread[0], 'C0o-', label='least squares')
right.semilogx(ks, spread[1], 'C3s-', label='best single feature')
right.set(xlabel='k', ylabel=r'standard deviation of $\mathrm{CV}_k$', title='Over 4000 data sets', ylim=(0.25, 0.72))
right.legend()
for ax in (left, right):
    ax.set_xticks(ks, ks)
    ax.minorticks_off();

# %% [markdown] tags=["caption"]
# Left: $k$ folds estimate the risk with $N - N/k$ examples, close to $R_N$ from ten folds on. Right: more folds lower the
# variance for least squares, but beyond five not for the choice of one feature.

# %% [markdown]
# The means agree with the theorem. (The dots share their data sets, so they deviate together.) There is no such law for the
# variance. For least squares, leave-one-out has the *least* variance; the often heard opposite is false here. For the
# unstable rule it is true: beyond five folds the standard deviation rises. Five or ten folds are the usual compromise
# {cite}`kohavi1995study`: most of the bias is gone, and the cost is small.
#
# ```{exercise} ★★★ Program: make all examples alike
# :label: cross_validation-gcv
# Leave-one-out divides each residual by its own $1 - H_{nn}$. *Generalized* cross-validation divides all by the mean:
# $\mathrm{GCV} = \frac1N \sum_n \big( r_n / (1 - \operatorname{tr}\mathbf{H}/N) \big)^2$. Write `gcv(X, y, alpha)` for
# ridge without a bias. The judge rotates the data into a basis where all examples have equal influence and leaves one out
# there. Why is that the same?
# ```

# %%
def gcv(X, y, alpha):
    """The generalized cross-validation error: a float.

    X: float array (N, d), of any shape. y: float array (N,). alpha: float > 0.
    For X = [[1.], [0.]], y = [2., 0.] and alpha = 1.0 it is 0.5 / 0.75**2.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def in_rotated_basis(X, y, alpha):
    U, N = np.linalg.svd(X)[0], len(y)
    W = np.fft.fft(np.eye(N)) / N**0.5 @ U.T  # unitary
    A, t = W @ X, W @ y
    errors = []
    for n in range(N):
        B, s = np.delete(A, n, axis=0), np.delete(t, n)
        G = B.conj().T @ B + alpha * np.eye(X.shape[1])
        errors.append(abs(t[n] - A[n] @ solve(G, B.conj().T @ s)) ** 2)
    return np.mean(errors)

problems = dict(
    X=matrices((1, 6), (1, 4), edges=True), y=lambda X: vectors(len(X), edges=True),
    alpha=on(1.0, 0.1) | scalars(0.1, 10),
)
grade(gcv, in_rotated_basis, **problems, tries=60)

# %% [markdown]
# ```{solution-start} cross_validation-gcv
# :class: dropdown
# ```
# With $\mathbf{X} = \mathbf{U}\mathbf{D}\mathbf{V}^\top$ and the unitary Fourier matrix $\mathbf{F}$, $\mathbf{W} =
# \mathbf{F}\mathbf{U}^\top$ turns $\mathbf{H}$ into $\mathbf{F}\boldsymbol\Lambda\mathbf{F}^*$, a circulant matrix,
# whose diagonal is constant, with the old trace. The residuals are turned, too, and keep their sum of squares. So GCV is
# leave-one-out in a basis without outstanding examples, and unlike leave-one-out it does not depend on the basis
# {cite}`golub1979generalized`. It is tempting to forget the square of the divisor. The second wrong answer is
# leave-one-out, and the third counts all weights as free parameters.

# %% jupyter={"source_hidden": true}
def residual_and_hat(X, y, alpha):
    H = X @ solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T)
    return y - H @ y, H

def gcv_solution(X, y, alpha):
    r, H = residual_and_hat(X, y, alpha)
    return (r @ r / len(y)) / (1 - np.trace(H) / len(y)) ** 2

def divisor_not_squared(X, y, alpha):
    r, H = residual_and_hat(X, y, alpha)
    return (r @ r / len(y)) / (1 - np.trace(H) / len(y))

def leave_one_out(X, y, alpha):
    r, H = residual_and_hat(X, y, alpha)
    return ((r / (1 - np.diag(H))) ** 2).mean()

def all_weights_free(X, y, alpha):
    r, _ = residual_and_hat(X, y, alpha)
    return (r @ r / len(y)) / (1 - X.shape[1] / (len(y) + X.shape[1])) ** 2

assert grade(gcv_solution, in_rotated_basis, **problems, tries=60)
assert not grade(divisor_not_squared, in_rotated_basis, **problems, tries=60)
assert not grade(leave_one_out, in_rotated_basis, **problems, tries=60)
assert not grade(all_weights_free, in_rotated_basis, **problems, tries=60)

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
assert close(left_out.T, library.cv_results_)
literal = sk.GridSearchCV(
    Ridge(), {'alpha': alphas}, cv=sk.LeaveOneOut(), scoring='neg_mean_squared_error').fit(Z, target)
assert close(left_out.mean(axis=1), -literal.cv_results_['mean_test_score'])
best = alphas[left_out.mean(axis=1).argmin()]
assert best == library.alpha_ == literal.best_params_['alpha']

# %% tags=["checks"]
def diagonal_only(H, y, parts):
    r = (y - H @ y) / (1 - np.diag(H))
    return [r[F] for F in parts]

def by_refits(X, y, parts, model):
    return [y[F] - model.fit(X[T], y[T]).predict(X[F])
            for T, F in rounds(parts)]

def one_fit_suffices(seed, k, alpha, rule):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(1, 2, (12, 3)), rng.normal(4, 1, 12)
    parts = folds(rng.permutation(12), k)
    model = Ridge(alpha) if alpha else LinearRegression()
    return close(np.concatenate(rule(ridge_hat(X, alpha), y, parts)),
                 np.concatenate(by_refits(X, y, parts, model)))

verify('one fit gives the errors of all folds',
       lambda seed, k, alpha: one_fit_suffices(seed, k, alpha, fold_errors),
       slip=('divides by the diagonal entries of a fold only',
             lambda seed, k, alpha: one_fit_suffices(
             seed, k, alpha, diagonal_only)),
       seed=seeds(), k=[2, 5, 12], alpha=[0, 0.7, 9.0], tries=60)

# %% tags=["checks"]
def best_one(X, y):
    j = abs(X.T @ y / norm(X, axis=0)).argmax()
    w = X[:, j] @ y / (X[:, j] @ X[:, j])
    return lambda X: X[:, j] * w

def bare_ols(X, y):
    return LinearRegression(fit_intercept=False).fit(X, y).predict

def squares_of_ols(X, y, k):
    return fold_squares(qr(X)[0], y, k)

def batched(seed, k, rule, fit):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(2, 20, 3)), rng.normal(size=(2, 20))
    want = [cross_validate(fit, *pair, folds(np.arange(20), k), squared)[:, 1]
            for pair in zip(X, y, strict=True)]
    return close(rule(X, y, k), want)

verify('many data sets at once, two procedures',
       lambda seed, k: batched(seed, k, squares_of_ols, bare_ols)
       and batched(seed, k, squares_of_best_one, best_one),
       slip=('uses least squares for the best single feature',
             lambda seed, k: batched(seed, k, squares_of_ols, best_one)),
       seed=seeds(), k=[2, 5, 20], tries=30)

def as_expected(d):  # within 5 standard errors
    off = mean[0] - risk(40 - 40 / ks, d)
    return bool((abs(off) < 5 * sem(cv[0], axis=1)).all())

verify('the mean of CV is the risk at N - N/k', lambda: as_expected(8),
       slip=('counts one feature too few', lambda: as_expected(7)))

verify(
    'the errors with one example left out are those of RidgeCV, for each α',
    lambda i: close(left_out[i].mean(), library.cv_results_[:, i].mean()),
    slip=('takes the next α', lambda i: close(left_out[i].mean(), library.cv_results_[:, (i + 1) % 4].mean())),
    i=[0, 1, 2, 3],
)

# %% [markdown]
# ## Nested cross-validation: what choosing a model costs
#
# This section continues [K-fold cross-validation: every example is validated
# once](#k-fold-cross-validation-every-example-is-validated-once). Mostly cross-validation chooses among many models: we take
# the one with the smallest error. Is that error still an estimate of what the winner can do? Let the target and 25 features
# be pure noise, with 40 examples, and let the candidates be 25 regressions, each on one feature. We choose the best:

# %%
def on_feature(j):
    def fit(X, y):
        m, level = X[:, j].mean(), y.mean()
        x = X[:, j] - m
        w = x @ y / (x @ x)
        return lambda X: level + w * (X[:, j] - m)
    return fit

def smallest_error(candidates, X, y, parts):  # folds of the winner
    tables = [cross_validate(fit, X, y, parts, squared)[:, 1]
              for fit in candidates]
    return min(tables, key=np.mean)

# %%
candidates = [on_feature(j) for j in range(25)]
parts = folds(np.arange(40), 5)
for seed in range(5):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 25)), rng.normal(size=40)
    error = smallest_error(candidates, X, y, parts).mean()
    print(f'data set {seed}: error of the winner {error:.2f}; '
          'the best possible is 1')

# %% [markdown]
# No regression on noise can have a risk below 1, but four of the five errors are lower.
#
# ````{prf:theorem} The smallest estimate is too small
# :label: thm-winner
# Let $C_1, \dots, C_m$ be random with finite expectations. Then
# $\ \mathbb{E} \min_j C_j \le \min_j \mathbb{E}\, C_j$, with equality only if some $C_j$ is the smallest with probability
# one.
# ````
#
# ````{prf:proof}
# :class: dropdown
# $\min_j C_j \le C_i$ for every $i$; take expectations, then the smallest over $i$. If equality holds for $i$, the
# difference $C_i - \min_j C_j \ge 0$ has expectation zero, so it is zero with probability one.
# ````
#
# The error of the winner was *chosen for being small*. The validation data took part in a decision, which is a leak again.
# The remedy is the same. Choosing is learning, so we put it into `fit`:

# %%
def best_of(candidates, k):
    def fit(X, y):
        inner = folds(np.arange(len(y)), k)
        errors = [cross_validate(fit, X, y, inner, squared)[:, 1].mean()
                  for fit in candidates]
        return candidates[np.argmin(errors)](X, y)
    return fit

def nested(candidates, X, y, parts):
    return cross_validate(best_of(candidates, 5), X, y, parts, squared)[:, 1]

# %% [markdown]
# If we give this `fit` to `cross_validate`, folds are made inside folds: **nested cross-validation**. The outer error judges
# the whole procedure, choice included. In scikit-learn it is `cross_val_score` of a `GridSearchCV`:

# %%
X, y, _ = diabetes()
alphas = [0.1, 3.0, 30.0, 300.0]
search = sk.GridSearchCV(
    make_pipeline(StandardScaler(), Ridge()), {'ridge__alpha': alphas},
    cv=sk.KFold(5), scoring='neg_mean_squared_error')
theirs = -sk.cross_val_score(search, X, y, cv=sk.KFold(3))
ridges = [standardized_ridge(a) for a in alphas]
ours = nested(ridges, X, y, folds(np.arange(442), 3))
print('ours', ours.round(1), ' scikit-learn', theirs.round(1))
winner = smallest_error(ridges, X, y, folds(np.arange(442), 3))
print(f'RMSE: nested {ours.mean() ** 0.5:.1f}, winner'
      f' {winner.mean() ** 0.5:.1f}; the mean {y.std():.1f}')

# %% [markdown]
# For the patients it hardly matters: the four values of $\alpha$ are about equally good. How much can it matter? We return to
# the 25 candidates on noise, in 24 data sets. The true risk of whatever is chosen can be computed, $1 + b^2 + w^2$ for
# $\hat y = b + wx_j$.

# %% tags=["hide-input"]
def pure_noise(seed):  # error of the winner, nested, true
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 25)), rng.normal(size=40)
    rules, parts = [on_feature(j) for j in range(25)], folds(np.arange(40), 5)
    b, b_plus_w = best_of(rules, 5)(X, y)(np.array([25 * [0.0], 25 * [1.0]]))
    return (smallest_error(rules, X, y, parts).mean(),
            nested(rules, X, y, parts).mean(), 1 + b**2 + (b_plus_w - b) ** 2)

noise = np.array([pure_noise(seed) for seed in range(24)])  # (24, 3)
print('noise (the best is 1): winner {:.2f}, nested {:.2f}, true risk {:.2f}'.format(*noise.mean(axis=0)))
print('the error of the winner was too low in', (noise[:, 0] < noise[:, 2]).sum(), 'of 24')

# %% mystnb={"image": {"alt": "Twenty-four data sets of pure noise, in order of the winner's error: that error lies below one for most of them, the true risk of the winner always above one; the nested estimate scatters widely around the true risk, never below the error of the winner."}} tags=["hide-input"]
fig, ax = plt.subplots(figsize=(6, 2.8))
ranks, ordered = np.arange(1, 25), noise[noise[:, 0].argsort(kind='stable')]
for k, (name, mark) in enumerate((('error of the winner', 'C1o'), ('nested', 'C0s'), ('true risk of the winner', 'C2D'))):
    ax.plot(ranks, ordered[:, k], mark, ms=4, label=name)
ax.axhline(1, color=GREY, ls='--', lw=1)
ax.set(xlabel='data sets of pure noise, ordered', ylabel='squared error', ylim=(0.3, 2.4), xticks=[1, 6, 12, 18, 24])
ax.legend(ncols=3, fontsize=8, loc='upper left');

# %% [markdown] tags=["caption"]
# The error of the best of 25 useless features is lower than its true risk in 20 of 24 data sets of pure noise; the nested
# error is on average close to the true risk.

# %% [markdown]
# On noise, the winner seems to explain something and explains less than nothing. The nested error says so on
# average, though not in each data set. The more candidates, the fewer data and the weaker the signal, the more it
# matters. Nested cross-validation judges the *procedure*. The model to be used is what the procedure makes of all
# $N$ examples.
#
# ### The one-standard-error rule
#
# Errors have error bars. The *one-standard-error rule* {cite}`breiman1984classification` takes, among the models whose error
# is within one standard error of the smallest, the simplest. The standard error is that of a mean of $k$ numbers, the
# standard deviation of the fold errors over $\sqrt k$.

# %%
def standard_errors(table):
    return table.std(axis=2, ddof=1) / table.shape[2]**0.5

def two_rules(table, errors=standard_errors):  # (M, 10, k) -> (2, M)
    mean, every = table.mean(axis=2), np.arange(len(table))
    best = mean.argmin(axis=1)
    bar = (mean + errors(table))[every, best]
    return 1 + np.array([best, (mean <= bar[:, None]).argmax(axis=1)])

# %% [markdown]
# We try both rules on polynomials: a cubic truth, 60 points, degrees 1 to 10, ten folds, 400 data sets, once with noise 1
# and once with noise 3. (Folds are left out by {prf:ref}`thm-fold-shortcut`.)

# %% tags=["hide-input"]
def truth(x):
    return 5 + 1.2 * x - 3.4 * x**2 / 2 + 5.6 * x**3 / 6

def points(seed, M, noise):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, (M, 60))
    return x, truth(x) + noise * rng.normal(size=(M, 60))

def by_degree(x, y, k):  # (M, N) -> fold errors (M, 10, k), excess risks on [-2, 2] (M, 10)
    (Q, R), grid, errors, risks = qr(legvander(x / 2, 10)), np.linspace(-2, 2, 201), [], []
    for p in range(2, 12):  # the first p columns of Q span the polynomials of degree p - 1
        errors.append(fold_squares(Q[..., :p], y, k))
        w = solve(R[..., :p, :p], Q[..., :p].mT @ y[..., None])[..., 0]
        risks.append(((w @ legvander(grid / 2, p - 1).T - truth(grid)) ** 2).mean(axis=1))
    return np.stack(errors, axis=1), np.stack(risks, axis=1)

worlds = {}
for noise in (1, 3):
    x, t = points(1, 400, noise)
    table, risks = by_degree(x, t, 10)
    worlds[noise] = table, two_rules(table)
    for name, D in zip(('smallest error', 'one SE rule'), worlds[noise][1]):
        median = np.median(risks[np.arange(400), D - 1])
        print(f'noise {noise}, {name:14}: degree < 3 {(D < 3).sum():3}, = 3 {(D == 3).sum()}, '
              f'> 3 {(D > 3).sum():3} of 400, median excess risk {median:.3f}')

# %% mystnb={"image": {"alt": "Left: cross-validation error of one data set against degree with error bars: high at degrees 1 and 2, flat from 3 to 6 and then slowly rising, with bars of nearly the same length; a dashed line one standard error above the smallest crosses at degree 3. Right: how often each rule chose each degree at noise 1: the one-standard-error rule nearly always 3, the smallest error 3 in two thirds and higher degrees else."}} tags=["hide-input"]
fig, (left, right) = panels(2, height=2.8)
table, (smallest, simple) = worlds[1]
one = np.flatnonzero((smallest > 3) & (simple == 3))[0]
mean = table[one].mean(axis=1)
error = table[one].std(axis=1, ddof=1) / 10**0.5
left.errorbar(range(1, 11), mean, error, fmt='C0o-', lw=1.2, capsize=2)
bar = (mean + error)[mean.argmin()]
left.axhline(bar, color=GREY, ls='--', lw=1)
left.plot(smallest[one], mean.min(), 'C1o', ms=9, label='smallest error')
left.plot(3, mean[2], 'C2s', ms=8, label='one SE rule')
left.set(xlabel='degree', ylabel='squared error', ylim=(0.5, 4),
         title='One data set')
left.legend(fontsize=8)
places = np.arange(1, 11)
for k, (name, D) in enumerate((('smallest error', smallest),
                               ('one SE rule', simple))):
    right.bar(places + 0.4 * k - 0.2, np.bincount(D, minlength=11)[1:] / 4,
              0.4, color=f'C{k + 1}', label=name)
right.set(xlabel='degree chosen', ylabel='% of 400 data sets', xticks=places)
right.legend(fontsize=8);

# %% [markdown] tags=["caption"]
# With a cubic truth and noise 1, the one-standard-error rule finds degree 3 in 395 of 400 data sets, the smallest error in
# 268, else a higher one.

# %% [markdown]
# With noise 1 the rule finds the cubic nearly always, the smallest error only in two cases of three. With
# noise 3 the cubic term is real but hard to detect, the rule mostly prefers a simpler model, and its median excess risk is
# twice that of the smallest error. So the rule is a preference for simple models, and not a theorem. Even its standard error
# is uncertain: the folds share their training data, their errors depend on each other, and no estimate of the variance of
# $\mathrm{CV}_k$ is unbiased for all distributions {cite}`bengio2004no`.
#
# ```{exercise} ★★ Pencil: the luckiest of many
# :label: cross_validation-luckiest
# Each of $m$ classifiers guesses $n$ coin flips, independently. What is the expected accuracy of the best? Write a formula
# with the distribution function of `scipy.stats.binom`: `expected_best(m, n)`.
# ```

# %%
def expected_best(m, n):
    """The expected accuracy of the best of m classifiers: a float, exact.

    m, n: ints >= 1; m may be a thousand.
    expected_best(1, 7) is 0.5, and expected_best(2, 1) is 0.75.
    """
    raise NotImplementedError('your turn')

# %% tags=["hide-input"] jupyter={"source_hidden": true}
def best_one_after_the_other(m, n):
    one = np.array([1.0])
    for _ in range(n):
        one = np.convolve(one, [0.5, 0.5])  # chances of 0 to n hits
    best, at_most = one, one.cumsum()
    for _ in range(m - 1):
        best = best * at_most + one * (best.cumsum() - best)
    return best @ np.arange(n + 1) / n

contests = dict(m=on(1, 2, 1000) | integers(1, 50), n=on(1, 50) | integers(1, 30))
grade(expected_best, best_one_after_the_other, **contests, tries=60)

# %% [markdown]
# ```{solution-start} cross_validation-luckiest
# :class: dropdown
# ```
# The best has at most $t$ hits if all $m$ have: probability $F(t)^m$ with the binomial distribution function $F$. A
# count has the expectation $\sum_{t=0}^{n-1} P(\text{count} > t) = \sum_{t=0}^{n-1} (1 - F(t)^m)$. For 1000
# classifiers and 50 coins this is 0.73. It is tempting to raise the other side to the power: that is the expected *worst*.
# The second wrong answer forgets that there are $m$, and the third begins to count at one hit.

# %% jupyter={"source_hidden": true}
def expected_best_solution(m, n):
    return (1 - binom(n, 0.5).cdf(np.arange(n)) ** m).sum() / n

def expected_worst(m, n):
    return (binom(n, 0.5).sf(np.arange(n)) ** m).sum() / n

def one_of_them(m, n):
    return 0.5

def from_one_hit_on(m, n):
    return (1 - binom(n, 0.5).cdf(np.arange(1, n + 1)) ** m).sum() / n

assert grade(expected_best_solution, best_one_after_the_other, **contests, tries=60)
assert not grade(expected_worst, best_one_after_the_other, **contests, tries=60)
assert not grade(one_of_them, best_one_after_the_other, **contests, tries=60)
assert not grade(from_one_hit_on, best_one_after_the_other, **contests, tries=60)
assert round(expected_best_solution(1000, 50), 2) == 0.73

# %% [markdown]
# ```{solution-end}
# ```

# %% tags=["checks"]
def by_numpy(D):
    return lambda x, y: np.polynomial.Polynomial.fit(x, y, D)

def as_refits(seed, degrees):
    x, y = points(seed, 2, 1)
    parts, grid = folds(np.arange(60), 10), np.linspace(-2, 2, 201)
    fits = [by_numpy(D) for D in degrees]
    errors = [[cross_validate(fit, *pair, parts, squared)[:, 1]
               for fit in fits] for pair in zip(x, y, strict=True)]
    risks = [[squared(fit(*pair)(grid), truth(grid)).mean() for fit in fits]
             for pair in zip(x, y, strict=True)]
    found = by_degree(x, y, 10)
    return close(found[0], errors) and close(found[1], risks)

def by_definition(seed, errors):
    table, _ = by_degree(*points(seed, 9, 3), 10)
    for means, e, *ours in zip(table.mean(axis=2), sem(table, axis=2),
                               *two_rules(table, errors), strict=True):
        least = list(means).index(min(means))
        near = [D for D in range(10) if means[D] <= means[least] + e[least]]
        if ours != [least + 1, near[0] + 1]:
            return False
    return True
verify('the errors of all degrees are those of refits',
       lambda seed: as_refits(seed, range(1, 11)),
       slip=('compares with degrees one lower',
             lambda seed: as_refits(seed, range(10))),
       seed=seeds(), tries=4)

verify('both rules choose as defined',
       lambda seed: by_definition(seed, standard_errors),
       slip=('takes the standard deviation for the standard error',
             lambda seed: by_definition(seed, lambda t: t.std(axis=2))),
       seed=seeds(), tries=20)

def as_grid_search(seed, rule):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4))
    y = X @ rng.normal(size=4) + 3 * rng.normal(size=30)
    theirs = -sk.cross_val_score(search, X, y, cv=sk.KFold(3))
    ridges = [standardized_ridge(a) for a in alphas]
    fitted = best_of(ridges, 5)(X, y)(X)
    return (close(rule(ridges, X, y, folds(np.arange(30), 3)), theirs)
            and close(fitted, search.fit(X, y).predict(X)))

verify('choosing inside is a GridSearchCV inside cross_val_score',
       lambda seed: as_grid_search(seed, nested),
       slip=('reports the smallest error without nested folds',
             lambda seed: as_grid_search(seed, smallest_error)),
       seed=seeds(), tries=2)

# %% [markdown]
# ## Summary
#
# Cross-validation uses every example once for validation and $k - 1$ times for training. Its mean is exactly the risk of the
# procedure with $N - N/k$ examples, provided that whatever uses data (scaling, choosing features, choosing models) happens
# inside the folds; otherwise it can find 96 % accuracy in coin flips. Five or ten folds have little bias left, and for ridge
# regression and least squares one fit gives all left-out errors. The error of a chosen model is too small because it was
# chosen for that; nested folds, where choosing is a part of fitting, give an honest estimate.
#
# **Further reading.** {cite}`stone1974cross` and {cite}`geisser1975predictive` are the beginnings;
# {cite}`hastie2009elements`, section 7.10, has the wrong and the right way, {cite}`arlot2010survey` the theory,
# {cite}`varma2006bias` nested folds; {cite}`bengio2004no` shows why the error bar has no unbiased estimate.
