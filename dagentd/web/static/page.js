"use strict";
// Live regions, scrolling through long conversations, keys, and the verbs. What it shows is HTML that the server escaped.
(() => {
  const policy = window.trustedTypes ? trustedTypes.createPolicy("page", { createHTML: (text) => text }) : null;
  const parsed = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const token = one("meta[name=token]").content;
  const live = document.body.dataset.live;
  const MOST = 600; // messages that stay in the page

  // An answer that comes while the reader is on the way to another page must not bring them back to this one.
  let leaving = false;
  addEventListener("beforeunload", () => { leaving = true; });
  const reload = () => { if (!leaving) location.reload(); };

  // --- telling ---------------------------------------------------------------------------------------------------
  let silence;
  function tell(text) {
    const toast = one("#toast");
    toast.textContent = text;
    clearTimeout(silence);
    silence = setTimeout(() => { toast.textContent = ""; }, 6000);
  }

  // --- times: "3 min ago" stays true, and exact ones are in the reader's zone --------------------------------------
  function ago(then) {
    const seconds = (Date.now() - then) / 1000;
    if (Math.abs(seconds) < 60) return "just now";
    if (seconds < 0 || seconds >= 30 * 86400) return new Date(then).toISOString().slice(0, 10);
    const [length, unit] = [[86400, "d"], [3600, "h"], [60, "min"]].find(([length]) => seconds >= length);
    return `${Math.floor(seconds / length)} ${unit} ago`;
  }
  function tick() {
    for (const each of all("time:not([data-exact])")) {
      const told = ago(Date.parse(each.dateTime));
      if (each.textContent !== told) each.textContent = told;
    }
  }
  setInterval(tick, 30000);

  // --- live ------------------------------------------------------------------------------------------------------
  let asked = false, again = false;
  async function refresh() {
    if (asked) { again = true; return; }
    asked = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      const fresh = parsed(await answer.text());
      const [old, now] = [one("#live"), one("#live", fresh)];
      if (!old || !now) { if (answer.ok !== (old !== null)) reload(); return; }
      if (old.innerHTML === now.innerHTML) return;
      const open = new Set(all("details[open]", old).map((each) => all("details", old).indexOf(each)));
      const focus = document.activeElement, at = chosen ? rows().indexOf(chosen) : -1;
      const where = old.contains(focus) ? all("a,button,input", old).indexOf(focus) : -1;
      old.replaceWith(document.adoptNode(now));
      all("details", now).forEach((each, place) => { if (open.has(place)) each.open = true; });
      if (where >= 0) all("a,button,input", now)[where]?.focus({ preventScroll: true });
      if (chosen && !chosen.isConnected) choose(rows().find((each) => address(each) === address(chosen)) || rows()[at], false);
      const dot = one(".top .dot"), other = one(".top .dot", fresh);
      if (dot && other) { dot.className = other.className; dot.title = other.title; one(".unseen", dot).textContent = other.title; }
    } catch { /* the server has ended: the stream says so */ } finally {
      asked = false;
      if (again) { again = false; setTimeout(refresh, 250); }
    }
  }
  let soon = 0;
  function refreshSoon() { if (!soon) soon = setTimeout(() => { soon = 0; refresh(); }, 120); }

  async function append() {
    const log = one("#conversation");
    if (!log || !("tail" in log.dataset)) return;
    const last = all(".message", log).at(-1);
    if (!last) { reload(); return; }
    const query = new URLSearchParams(location.search);
    for (const each of ["before", "after", "at", "time"]) query.delete(each);
    query.set("after", last.dataset.id);
    const answer = await fetch(`messages?${query}`, { credentials: "same-origin" });
    if (!answer.ok) return;
    const near = window.innerHeight + window.scrollY > document.documentElement.scrollHeight - 160;
    for (const each of all(".message, .divider", parsed(await answer.text()))) {
      if (each.dataset.id && all(".message", log).slice(-60).some((known) => known.dataset.id === each.dataset.id)) continue;
      each.classList.add("new");
      log.append(document.adoptNode(each));
    }
    trim(log, true);
    if (near) window.scrollTo(0, document.documentElement.scrollHeight);
  }
  let appending = Promise.resolve();

  function heard(event) {
    if (event.type === "page:away" || event.type === "page:back") { reload(); return; }
    if (live === "daemon") { if (event.type.startsWith("daemon:")) refreshSoon(); return; }
    if (live !== "*" && event.sessionId && event.sessionId !== live) return;
    if (event.type === "session:compaction-error") tell(`The compaction failed: ${event.error}`);
    refreshSoon();
    if (live !== "*" && (event.action === "message_added" || event.type === "events:lost")) {
      appending = appending.then(append).catch(() => {});
    }
    if (live !== "*" && /^(compacted|undone|checkpoint|pinned)$/.test(event.action || "") && one(".checkpoint, .compactions")) reload();
  }
  function listen() {
    const stream = new EventSource("events");
    stream.onmessage = (message) => heard(JSON.parse(message.data));
    let lost = false;
    stream.onopen = () => { if (lost) { lost = false; tell(""); refreshSoon(); appending = appending.then(append).catch(() => {}); } };
    stream.onerror = () => { lost = true; tell("`dagentd web` has ended, or is away. Type it again."); };
    addEventListener("pagehide", () => stream.close());
    addEventListener("pageshow", (event) => { leaving = false; if (event.persisted) reload(); });
  }
  if (live) listen();

  // --- long conversations: the page before or after comes when it is scrolled to -----------------------------------
  function trim(log, fromStart) {
    const held = all(".message", log);
    const over = held.length - MOST;
    if (over <= 0) return;
    const query = new URLSearchParams(location.search);
    for (const each of ["before", "after", "at", "time"]) query.delete(each);
    const gone = fromStart ? held.slice(0, over) : held.slice(-over);
    const edge = fromStart ? held[over] : held[held.length - over - 1];
    const height = document.documentElement.scrollHeight;
    for (const each of gone) each.remove();
    all(fromStart ? ".way.before" : ".way.after", log).forEach((each) => each.remove());
    const way = document.createElement("p"), link = document.createElement("a"), key = fromStart ? "before" : "after";
    way.className = `way ${key}`;
    link.textContent = fromStart ? "Earlier messages" : "Later messages";
    query.set(key, edge.dataset.id);
    link.href = `session?${query}`;
    link.dataset.more = `messages?${query}`;
    way.append(link);
    if (fromStart) { log.prepend(way); window.scrollBy(0, document.documentElement.scrollHeight - height); } else { log.append(way); delete log.dataset.tail; }
    watch(link);
  }
  const seen = "IntersectionObserver" in window ? new IntersectionObserver((found) => {
    for (const each of found) if (each.isIntersecting) { seen.unobserve(each.target); more(each.target); }
  }, { rootMargin: "800px 0px" }) : null;
  function watch(link) { if (seen) seen.observe(link); }
  async function more(link) {
    const way = link.parentElement, log = one("#conversation"), back = way.classList.contains("before");
    const answer = await fetch(link.dataset.more, { credentials: "same-origin" });
    if (!answer.ok || !way.isConnected) return;
    const fresh = parsed(await answer.text()).body;
    all(back ? ".way.after" : ".way.before", fresh).forEach((each) => each.remove());
    const anchor = back ? way.nextElementSibling : way.previousElementSibling;
    const top = anchor ? anchor.getBoundingClientRect().top : 0;
    const moved = [...fresh.childNodes].map((each) => document.adoptNode(each));
    way.replaceWith(...moved);
    if (!back && !one(".way.after", log)) log.dataset.tail = "";
    if (anchor) window.scrollBy(0, anchor.getBoundingClientRect().top - top);
    all("a[data-more]", log).forEach(watch);
    trim(log, !back);
  }

  // --- verbs -----------------------------------------------------------------------------------------------------
  async function act(verb, given) {
    const answer = await fetch("do", {
      method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json", "X-Dagentd-Token": token },
      body: JSON.stringify({ verb, given }),
    });
    const done = await answer.json().catch(() => ({ error: "The page is not open any more. Type `dagentd web` again." }));
    if (done.error) tell(done.error);
    if (done.told) tell(done.told);
    if (done.dialog) ask(done);
    return done;
  }
  function ask(found) {
    const dialog = document.createElement("dialog"), buttons = document.createElement("div");
    buttons.className = "buttons";
    dialog.append(...[...parsed(found.dialog).body.childNodes].map((each) => document.adoptNode(each)));
    for (const [label, main] of [["Leave it", false], ["Compact", true]]) {
      const button = document.createElement("button");
      button.textContent = label;
      if (main) button.className = "main";
      button.addEventListener("click", async () => { dialog.close(); if (main) await changed(act(found.verb, found.given)); });
      buttons.append(button);
    }
    dialog.append(buttons);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }
  async function changed(doing) {
    const done = await doing;
    if (done.told && one(".checkpoint, .compactions, .message")) { sessionStorage.setItem("told", done.told); reload(); } else if (done.told) refreshSoon();
  }
  const told = sessionStorage.getItem("told");
  if (told) { sessionStorage.removeItem("told"); tell(told); }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if ("close" in button.dataset) button.closest("dialog").close();
    if (button.dataset.copy !== undefined) {
      await navigator.clipboard.writeText(button.dataset.copy).then(() => tell("Copied."), () => tell("The browser does not let this page copy."));
    }
    if (button.dataset.verb && button.type !== "submit") {
      button.disabled = true;
      const { verb, given } = button.dataset, asking = JSON.parse(given);
      try {
        if (verb === "pin") pinned(button, asking, await act(verb, asking));
        else if (verb === "preview") await act(verb, asking);
        else await changed(act(verb, asking));
      } finally { button.disabled = false; }
    }
  });
  function pinned(button, given, done) {
    if (done.error) return;
    button.textContent = given.pinned ? "Unpin" : "Pin";
    button.dataset.given = JSON.stringify({ ...given, pinned: !given.pinned });
  }
  document.addEventListener("submit", async (event) => {
    const button = one("button[data-verb]", event.target);
    if (button) {
      event.preventDefault();
      const done = act(button.dataset.verb, { ...JSON.parse(button.dataset.given), ...Object.fromEntries(new FormData(event.target)) });
      await changed(done);
      if ((await done).told) event.target.reset();
      return;
    }
    const zoned = one("input[data-zone]", event.target); // what the reader typed is in the reader's zone
    if (!zoned || !zoned.value) return;
    event.preventDefault();
    const query = new URLSearchParams(new FormData(event.target));
    query.set("time", new Date(zoned.value).toISOString());
    location.href = `session?${query}#target`;
  });

  // --- keys ------------------------------------------------------------------------------------------------------
  let chosen = null, first = "";
  const address = (row) => one(".row-link", row)?.href || row.textContent; // of a row that may stand elsewhere by now
  const rows = () => all("[data-row]").filter((each) => each.offsetParent !== null);
  function choose(row, scroll = true) {
    if (!row) return;
    chosen?.classList.remove("chosen");
    chosen = row;
    row.classList.add("chosen");
    const target = one(".row-link", row) || row;
    target.focus({ preventScroll: true });
    if (scroll) row.scrollIntoView({ block: "nearest" });
  }
  function step(by) {
    const listed = rows();
    if (!listed.length) return;
    let at = listed.indexOf(chosen);
    if (at < 0) at = by > 0 ? listed.findIndex((each) => each.getBoundingClientRect().bottom > 80) - 1 : listed.length;
    choose(listed[Math.min(Math.max(at + by, 0), listed.length - 1)]);
  }
  const KEYS = {
    "/": () => { one("#q").focus(); one("#q").select(); }, j: () => step(1), k: () => step(-1), "?": () => one("#help").showModal(),
    e: () => { for (const each of all("details", chosen || document)) each.open = !each.open; },
    G: () => window.scrollTo(0, document.documentElement.scrollHeight),
    "g o": () => { location.href = "./"; }, "g u": () => { location.href = "usage"; }, "g h": () => { location.href = "health"; },
    "g g": () => window.scrollTo(0, 0),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target.closest("input, textarea, select, dialog");
    if (field) { if (event.key === "Escape" && event.target.matches("input")) event.target.blur(); return; }
    const act = KEYS[first ? `${first} ${event.key}` : event.key];
    first = !first && event.key === "g" ? "g" : "";
    if (act) { event.preventDefault(); act(); }
  });

  // --- at the start ----------------------------------------------------------------------------------------------
  tick();
  for (const each of all("time[data-exact]")) each.title = new Date(each.dateTime).toLocaleString();
  const log = one("#conversation");
  if (log) {
    const target = one("#target");
    if (target) target.scrollIntoView({ block: "center" });
    else if ("tail" in log.dataset && !location.search.includes("before=")) window.scrollTo(0, document.documentElement.scrollHeight);
    requestAnimationFrame(() => all("a[data-more]", log).forEach(watch));
  }
})();
