// Live pages: what `make live` adds to a page of the book, so that its cells are edited and run in place. thebe brings the
// editors, the connection and the outputs; this file says what runs when, and tells the reader.
(() => {
  const KEPT = 'book-live';  // in this browser's storage: what a reader has changed
  const STOPPED = 'No answer from Python. Run “make live” in the folder of the book, and open the address that it prints.'
    + ' Then press the button again: your changes are kept.';

  const token = document.currentScript.dataset.token;
  const given = new URLSearchParams(location.search).has('token');  // the address that `make live` opens
  if (given) history.replaceState(null, '', location.pathname + location.hash);

  const root = new URL(document.documentElement.dataset.content_root ?? './', location);
  const page = location.pathname.slice(root.pathname.length).replace(/\.html$/, '');  // notebooks/linear_algebra/norms
  const boxes = [...document.querySelectorAll('.bd-article div.cell')];
  let cells, server, session, rendermime, notebook;
  let work = Promise.resolve();  // what was asked for, one after the other
  let round = 0;                 // a new round forgets what is still waiting
  let lose, lost;                // resolves when the connection is lost

  // The bar: one button; once pressed, what Python does, and buttons for the whole page.
  const make = (tag, className, text = '', attributes = {}) => {
    const made = document.createElement(tag);
    made.className = className;
    made.textContent = text;
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const button = (text, title, onclick) => Object.assign(make('button', 'live-button', text, {type: 'button', title}), {onclick});
  const bar = make('div', 'live-bar d-print-none', '', {role: 'region', 'aria-label': 'Run this page', tabindex: -1});
  const status = make('span', 'live-status', '', {role: 'status'});
  const start = button('Edit and run this page', 'Turn the cells into editors and start Python', () => work = connect());
  const all = button('Run all', 'Run all cells from the top', () => { cells.forEach(cell => cell.ran = null); run(cells.at(-1)); });
  const interrupt = button('Interrupt', 'Stop the cell that is running', () => session.kernel.interrupt());
  const anew = button('Restart', 'Stop Python and start it anew: everything that ran is forgotten', () => work = restart());
  bar.append(start, all, interrupt, anew, status);

  if (boxes.length) {
    (document.querySelector('.bd-header-article') ?? document.querySelector('.bd-article')).after(bar);
    tell('off', 'Python on this machine runs the cells.');
  } else if (given) {
    document.querySelector('.bd-header-article')?.after(bar);
    tell('hint', 'Live: each section has a button that lets you edit and run its cells.');
  }

  function tell(state, text) {
    bar.dataset.state = state;
    status.textContent = text;
    const connected = ['ready', 'busy', 'failed'].includes(state);
    start.hidden = !['off', 'stopped'].includes(state);
    start.textContent = cells ? 'Connect' : 'Edit and run this page';
    all.hidden = !connected;
    interrupt.hidden = state !== 'busy';
    anew.hidden = !connected;
    if (document.activeElement.hidden) bar.focus();  // of a button that has just gone
  }

  // Connect to the server and start Python; the first time, turn the cells into editors.
  async function connect() {
    begin();
    tell('starting', 'Python is starting …');
    const baseUrl = `${location.origin}/`;
    const answer = await fetch(`${baseUrl}api/status`, {headers: {Authorization: `token ${token}`}}).catch(() => null);
    if (!answer?.ok) return tell('stopped', STOPPED);
    try {
      await load();
      const wsUrl = baseUrl.replace('http', 'ws');
      const config = thebeCore.api.makeConfiguration({serverSettings: {baseUrl, wsUrl, token, appendToken: true}});
      if (!cells) edit(await source(), config);
      server?.dispose();
      server = thebeCore.api.makeServer(config);
      server.connectToJupyterServer();
      await server.ready;
      // a name of its own, so that each opening of a page begins with a fresh Python; its folder is that of the notebook
      const path = `${page}-${Date.now().toString(36)}.ipynb`;
      session = await server.startNewSession(rendermime, {path, kernelName: 'python3'});
      await session.kernel.info;
    } catch (error) {
      return tell('stopped', `Python did not start: ${error?.message ?? error}`);
    }
    notebook.attachSession(session);
    watch(session.kernel);
    ready();
  }

  function watch(kernel) {
    const current = () => kernel === session?.kernel;
    kernel.connectionStatusChanged.connect((_, now) => current() && (now === 'connected' ? ready() : gone()));
    kernel.statusChanged.connect((_, now) => {
      if (now === 'dead' && current()) gone();
      if (now === 'autorestarting' && current()) {
        begin();
        tell('ready', 'Python crashed and was started anew: what ran before is forgotten.');
      }
    });
  }

  async function restart() {
    const old = session;
    session = null;
    begin();
    tell('starting', 'Python is starting …');
    await old.shutdown().catch(() => null);  // a server that is gone is reported by connect
    await connect();
  }

  function gone() {
    begin();
    tell('stopped', STOPPED);
  }

  function ready() {
    tell('ready', 'Python is ready. Shift-Enter runs a cell, Esc leaves it.');
  }

  // Nothing has run, nothing is waiting.
  function begin() {
    lose?.();
    lost = new Promise(resolve => lose = resolve);
    cells?.forEach(cell => cell.ran = null);
    cancel();
  }

  function cancel() {
    round++;
    cells?.forEach(settle);
  }

  // What is fetched when the button is pressed: thebe, and the notebook, which has the cells that a page does not show.
  function load() {
    if (window.thebeCore) return;
    return new Promise((resolve, reject) => {
      document.head.append(Object.assign(make('script', ''), {src: `${root}_live/thebe/index.js`, onload: resolve, onerror: reject}));
    });
  }

  async function source() {
    const found = await fetch(`${root}_sources/${page}.ipynb`);
    if (!found.ok) throw new Error('the notebook of this page is missing: make site');
    return (await found.json()).cells.filter(cell => cell.cell_type === 'code').map(cell => ({
      id: `live-${cell.id}`,
      source: [].concat(cell.source).join('').trimEnd(),
      shown: !cell.metadata.tags?.includes('remove-cell'),
    }));
  }

  function edit(sources, config) {
    const shown = sources.filter(cell => cell.shown);
    const code = boxes.map(box => box.querySelector('.cell_input pre').textContent.trimEnd());
    if (shown.length !== boxes.length || shown.some((cell, i) => cell.source !== code[i])) {
      throw new Error('this page is older than its notebook: make site');
    }
    rendermime = thebeCore.api.makeRenderMimeRegistry();
    rendermime.latexTypesetter = {typeset};
    notebook = thebeCore.api.setupNotebookFromBlocks(sources, config, rendermime);
    shown.forEach((cell, i) => Object.assign(cell, {box: boxes[i], number: i + 1, output: make('div', 'cell_output live-output output_area')}));
    const places = shown.map(({id, box, output}) => ({id, placeholders: {source: box.querySelector('.cell_input > div'), output}}));
    shown.forEach(frame);
    thebe.renderAllCells({codeMirrorConfig: {
      lineNumbers: false, viewportMargin: Infinity, indentUnit: 4, screenReaderLabel: 'Code',
    }}, notebook, places);
    cells = sources.map(cell => ({...cell, code: notebook.getCellById(cell.id), original: cell.source, ran: null}));
    cells.filter(cell => cell.shown).forEach(keys);
  }

  // Below the editor a row of buttons; the recorded output stays until there is a new one.
  function frame(cell) {
    const input = cell.box.querySelector(':scope > details') ?? cell.box.querySelector('.cell_input');
    cell.box.id ||= `live-cell-${cell.number}`;
    cell.recorded = cell.box.querySelector(':scope > .cell_output');
    const figure = cell.recorded?.querySelector('img, svg.figure');
    cell.alt = figure?.alt ?? figure?.getAttribute('aria-label');
    cell.caption = make('div', 'live-caption');
    cell.row = make('div', 'live-row');
    input.after(cell.row, cell.output);
  }

  function keys(cell) {
    const editor = cell.box.querySelector('.CodeMirror').CodeMirror;
    const go = button('Run', 'Run this cell, after those above that have not run yet (Shift-Enter)', () => run(cell));
    const undo = button('Undo changes', 'Back to the code of the book', () => editor.setValue(cell.original));
    cell.said = make('span', 'live-said');
    cell.row.append(go, undo, cell.said);
    go.setAttribute('aria-label', `Run cell ${cell.number}`);
    editor.setOption('screenReaderLabel', `Code of cell ${cell.number}; Escape leaves it`);
    editor.setOption('extraKeys', {
      ...editor.getOption('extraKeys'),
      'Shift-Enter': () => run(cell), 'Ctrl-Enter': () => run(cell), 'Cmd-Enter': () => run(cell),
      Esc: () => go.focus(),
      Tab: () => editor.execCommand(editor.somethingSelected() ? 'indentMore' : 'insertSoftTab'),
      'Shift-Tab': 'indentLess',
    });
    // changes outlast the page: they are kept in this browser as long as the book's own code is the same
    const place = `${KEPT}:${page}#${cell.id}`;
    const changed = () => {
      const now = editor.getValue();
      undo.hidden = now === cell.original;
      if (undo.hidden) localStorage.removeItem(place);
      else localStorage.setItem(place, JSON.stringify([cell.original, now]));
      if (cell.ran !== null) settle(cell);
    };
    const [original, kept] = JSON.parse(localStorage.getItem(place) ?? '[]');
    if (original === cell.original) editor.setValue(kept);
    editor.on('change', changed);
    changed();
  }

  const SAID = {
    waiting: 'waiting', running: 'running …', ran: 'ran', failed: 'stopped with an error', changed: 'changed since it ran',
  };

  function mark(cell, state) {
    if (!cell.shown) return;
    cell.box.dataset.live = state;
    cell.said.textContent = SAID[state] ?? '';
  }

  function settle(cell) {
    if (cell.ran === null) mark(cell, '');
    else mark(cell, cell.ran === cell.code.source ? 'ran' : 'changed');
  }

  // Run a cell; before it, what is above it and has not run, or was changed since. An error stops the rest.
  function run(last) {
    const mine = round;
    mark(last, 'waiting');
    work = work.then(async () => {
      if (bar.dataset.state === 'stopped') return settle(last);
      for (const cell of cells.slice(0, cells.indexOf(last) + 1)) {
        if (mine !== round) return;
        if (cell === last || cell.ran !== cell.code.source) await execute(cell);
      }
      if (mine === round) ready();
    });
  }

  async function execute(cell) {
    const mine = round;
    const code = cell.code.source;
    tell('busy', `Running cell ${cell.number ?? 0} of ${boxes.length} …`);
    mark(cell, 'running');
    if (cell.shown) cell.output.style.minHeight = `${cell.output.offsetHeight}px`;  // the page must not jump
    const executed = cell.code.execute(code).then(answer => {
      if (mine !== round) cell.code.render([]);  // broken off: what came is half of it
      return answer;
    });
    const answer = await Promise.race([executed, lost]);
    if (cell.shown) cell.output.style.minHeight = '';
    if (mine !== round) return;
    if (cell.recorded?.isConnected) {
      cell.caption.append(...cell.recorded.querySelector('figcaption')?.childNodes ?? []);
      cell.recorded.replaceWith(cell.caption);
    }
    if (cell.shown) cell.caption.hidden = code !== cell.original;  // it is about the figure of the book
    cell.output?.querySelectorAll('img').forEach(image => image.alt = described(cell));
    if (answer && !answer.error) {
      cell.ran = code;
      return settle(cell);
    }
    cancel();
    mark(cell, 'failed');
    tell('failed', '');
    const place = cell.shown ? make('a', '', `cell ${cell.number}`, {href: `#${cell.box.id}`}) : 'the first, hidden cell';
    status.append('Stopped at ', place, `: ${answer?.error?.[0]?.ename ?? 'an error'}.`);
  }

  // The card of a ✓ tries the check on the reader's own numbers, once its cell has run.
  addEventListener('check-card', ({target: card, detail: claim}) => {
    const place = make('form', 'live-own', '', {'aria-label': 'Your own numbers'});
    card.append(place);
    const cell = cells?.findLast(one => one.shown && one.original.includes(`'${claim}'`) && /\b(holds|erratum)\(/.test(one.original));
    if (!['ready', 'failed', 'busy'].includes(bar.dataset.state) || !cell) {
      place.append(make('p', '', 'To try it on your own numbers, press “Edit and run this page” first.'));
      return;
    }
    const begin = button('Try your own numbers', 'Run the check up to here, then on numbers that you type', async () => {
      begin.disabled = true;
      begin.textContent = 'Running the check …';
      run(cell);
      await work;
      const said = cell.ran === null ? 'The check did not run: see the bar at the top.' : await ask(`letters(${JSON.stringify(claim)})`);
      if (cell.ran === null || !said) {
        place.replaceChildren(make('p', '', said || 'The cases of this check are no numbers that one could type: change its code instead.'));
        return;
      }
      const box = make('textarea', '', '', {'aria-label': 'The letters of the formula, as Python', spellcheck: false, rows: said.split('\n').length});
      box.value = said;
      const answer = make('pre', 'live-answer', '', {role: 'status'});
      place.replaceChildren(box, make('button', 'live-button', 'Try', {}), answer);
      place.onsubmit = async event => {
        event.preventDefault();
        answer.textContent = await ask(`answer(${JSON.stringify(claim)}, ${JSON.stringify(box.value)})`);
      };
      box.focus();
      place.requestSubmit();
    });
    place.append(begin);
  });

  // What a function of nbutils.own_numbers gives, or the error that it raises, as text.
  async function ask(call) {
    const code = `print(__import__('nbutils.own_numbers').own_numbers.${call})`;  // it binds no name among the reader's
    let said = '';
    const asked = session.kernel.requestExecute({code, store_history: false});
    asked.onIOPub = ({header, content}) => {
      if (header.msg_type === 'stream') said += content.text;
      if (header.msg_type === 'error') said = `${content.ename}: ${content.evalue}`;
    };
    await Promise.race([asked.done, lost]);
    return said.trim();
  }

  function described(cell) {
    if (!cell.alt) return 'A figure drawn by this cell';
    return cell.code.source === cell.original ? cell.alt : `A figure drawn by the changed cell; as recorded: ${cell.alt}`;
  }

  // LaTeX that a cell shows is set by MathJax, which knows \(…\) and $$…$$, and is fetched when the first cell needs it.
  function typeset(node) {
    if (node.matches('.jp-RenderedLatex')) node.textContent = node.textContent.replace(/(?<!\$)\$([^$]+)\$(?!\$)/g, '\\($1\\)');
    return mathjax().then(() => MathJax.typesetPromise([node]));
  }

  let loading;
  function mathjax() {
    loading ??= new Promise((go, fail) => {
      window.MathJax = {...window.MathJax, startup: {typeset: false}};  // the settings of the page
      const script = make('script', '', '', {src: `${document.documentElement.dataset.content_root}_static/mathjax/tex-chtml.js`});
      script.onload = () => MathJax.startup.promise.then(go);
      script.onerror = fail;
      document.head.append(script);
    });
    return loading;
  }
})();
