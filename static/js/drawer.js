// The copilot's drawer: Ctrl/Cmd+K, Esc, focus, and its open state per tab. `/` focuses the search.
// The state stands on <html>, which boosted navigation never replaces.
const root = document.documentElement;
const narrow = matchMedia("(max-width: 760px)");
const overlay = matchMedia("(max-width: 1099.98px)");
let opener = null;

const drawer = () => document.getElementById("copilot");
const isPage = () => Boolean(document.querySelector(".copilot-page #copilot"));
const isOpen = () => root.dataset.copilot === "open";
const box = () => document.getElementById("copilot-text");
const hasModal = () => Boolean(document.querySelector("dialog[open]"));
const isTyping = (el) => el instanceof Element && el.matches("input, textarea, select, [contenteditable]");

function load() {
  if (!drawer()?.querySelector("[data-loaded]")) document.dispatchEvent(new CustomEvent("copilot:open"));
}

function focusBox() {
  (box() ?? drawer()?.querySelector("[data-copilot-close]"))?.focus();
}

function show(from) {
  opener = from ?? document.activeElement;
  setState("open");
  load();
  focusBox();
}

function hide() {
  const hadFocus = drawer()?.contains(document.activeElement);
  setState("closed");
  if (!hadFocus) return;
  const back = opener?.isConnected && opener !== document.body ? opener : visibleToggle();
  back?.focus();
}

function setState(state) {
  root.dataset.copilot = state;
  try {
    sessionStorage.setItem("copilot", state);
  } catch {
    // storage is refused: the state lives as long as the page
  }
  sync();
}

const visibleToggle = () => [...document.querySelectorAll("[data-copilot-toggle]")].find((el) => el.offsetParent);

// After each navigation the shell is new: buttons, inertness and the page's suggestions are set again.
function sync() {
  const shown = isOpen() && !isPage();
  for (const toggle of document.querySelectorAll("[data-copilot-toggle][aria-expanded]")) {
    toggle.setAttribute("aria-expanded", String(shown || isPage()));
  }
  for (const behind of document.querySelectorAll(".top, #main")) behind.inert = shown && narrow.matches;
  for (const key of document.querySelectorAll("[data-mod-key]")) {
    if (/mac|iphone|ipad/i.test(navigator.userAgent)) key.textContent = "⌘ K";
  }
  if (shown || isPage()) load();
  offerPrompts();
}

function offerPrompts() {
  const place = document.getElementById("copilot-prompts");
  const offered = document.getElementById("copilot-suggestions");
  place?.replaceChildren(...(offered ? [offered.content.cloneNode(true)] : []));
}

function toggle(from) {
  if (isPage()) focusBox();
  else if (!isOpen()) show(from);
  else if (drawer().contains(document.activeElement) || from) hide();
  else focusBox();
}

document.addEventListener("click", (event) => {
  const toggler = event.target.closest?.("[data-copilot-toggle]");
  if (toggler && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    event.stopImmediatePropagation(); // no boosted visit to the page the link stands for
    toggle(toggler);
  }
  if (event.target.closest?.("[data-copilot-close]")) hide();
  const prompt = event.target.closest?.("[data-prompt]");
  if (prompt) fill(prompt.dataset.prompt);
  const menu = document.querySelector(".account[open]");
  if (menu && !menu.contains(event.target)) menu.open = false;
}, true);

function fill(text) {
  if (!isOpen() && !isPage()) show();
  const area = box();
  if (!area) return;
  area.value = text;
  area.focus();
  area.setSelectionRange(text.length, text.length);
}

document.addEventListener("keydown", (event) => {
  if (event.key === " " && event.target.matches?.("a[role=button]")) {
    event.preventDefault();
    event.target.click();
  } else if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && !event.shiftKey && !event.altKey) {
    event.preventDefault();
    if (!hasModal()) toggle();
  } else if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target) && !hasModal()) {
    event.preventDefault();
    document.getElementById("q")?.focus();
  } else if (event.key === "Escape" && !hasModal() && !event.defaultPrevented) {
    escape();
  }
});

function escape() {
  const menu = document.querySelector(".account[open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary").focus();
  } else if (isOpen() && !isPage() && (overlay.matches || drawer().contains(document.activeElement))) {
    hide();
  }
}

document.addEventListener("htmx:after:swap", sync);
// Filled for the first time: whoever opened it waits to type.
document.addEventListener("htmx:after:settle", (event) => {
  const filled = event.detail.newContent?.some((node) => node.matches?.(".drawer-body"));
  if (filled && isOpen() && wantsFocus()) focusBox();
});
const wantsFocus = () => !document.activeElement || document.activeElement === document.body || document.activeElement.matches("#main, [data-copilot-toggle], [data-copilot-close]");
narrow.addEventListener("change", sync);
addEventListener("pageshow", sync);
sync();
setTimeout(sync); // htmx binds its triggers in a task of its own, queued before this one
