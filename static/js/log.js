// The transcript: keeps its place unless one is at its end. The box under it: Enter sends, Shift+Enter breaks the line.
const log = () => document.getElementById("copilot-log");
const box = () => document.getElementById("copilot-text");
const jump = () => document.querySelector("[data-jump]");
const runState = () => document.getElementById("copilot-state")?.dataset.runState ?? "idle";
const PLACEHOLDERS = { idle: "Ask, or say what to change", running: "Write ahead, send when it is done", waiting: "Decide on the change above first" };
let atEnd = true;
let key = null; // one Idempotency-Key per text, so that a second try is not a second message

const isAtEnd = (el) => el.scrollHeight - el.scrollTop - el.clientHeight < 48;

function follow() {
  const el = log();
  if (!el) return;
  if (atEnd) el.scrollTop = el.scrollHeight;
  if (jump()) jump().hidden = atEnd || isAtEnd(el);
}

function showState() {
  const state = runState();
  log()?.setAttribute("aria-busy", String(state === "running"));
  const send = document.getElementById("copilot-send");
  if (send && !send.closest(".htmx-request")) send.disabled = state !== "idle";
  if (box()) box().placeholder = PLACEHOLDERS[state];
  if (log()?.querySelector(".me")) log().querySelector("[data-greeting]")?.remove();
}

// One observer per page life: the drawer element outlives navigation, its inside does not.
const watching = new WeakSet();
function watch() {
  const drawer = document.getElementById("copilot");
  if (!drawer || watching.has(drawer)) return;
  watching.add(drawer);
  new MutationObserver((records) => { showState(); follow(); tell(records); }).observe(drawer, { childList: true, subtree: true, characterData: true });
  showState();
  follow();
}

// A write was done (or undone): pages that show work orders refresh themselves.
function tell(records) {
  const added = records.filter(({ target }) => target === log()).flatMap(({ addedNodes }) => [...addedNodes]);
  if (added.some((node) => node.matches?.(".tool-write.tool-executed"))) document.dispatchEvent(new CustomEvent("work-order-changed"));
}

document.addEventListener("scroll", (event) => {
  if (event.target !== log()) return;
  atEnd = isAtEnd(event.target);
  if (atEnd && jump()) jump().hidden = true;
}, true);

document.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-jump]")) return;
  atEnd = true;
  follow();
});

document.addEventListener("keydown", (event) => {
  if (event.target !== box() || event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (runState() === "idle" && box().value.trim()) box().form.requestSubmit();
});

document.addEventListener("input", (event) => {
  if (event.target !== box()) return;
  key = null;
  if (CSS.supports("field-sizing", "content")) return;
  box().style.height = "auto";
  box().style.height = `${box().scrollHeight}px`;
});

const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

document.addEventListener("htmx:config:request", (event) => {
  const { ctx } = event.detail;
  if (ctx.sourceElement?.id !== "copilot-form") return;
  if (runState() !== "idle") return event.preventDefault();
  ctx.request.headers["Idempotency-Key"] = key ??= newKey();
});

document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = event.detail;
  watch();
  if (ctx?.sourceElement?.id !== "copilot-form" || ctx.response?.status >= 400) return;
  key = null;
  box().value = "";
  box().style.height = "";
  atEnd = true;
  follow();
});

// The stream reconnects by itself; the line under the box says so meanwhile.
function connection(text) {
  const place = document.getElementById("copilot-error");
  if (!place) return;
  const line = Object.assign(document.createElement("p"), { className: "sub", textContent: text });
  place.replaceChildren(...(text ? [line] : []));
}
document.addEventListener("htmx:sse:error", () => connection("The connection was lost. Trying again…"));
document.addEventListener("htmx:sse:after:connection", () => connection(""));

watch();
