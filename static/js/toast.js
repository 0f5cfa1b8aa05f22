// Short messages from the server: the HX-Trigger event `toast` {message, kind}. #toasts is a status region from the start.
const STAYS_MS = 6000;

function toast({ message, kind = "done" }) {
  const place = document.getElementById("toasts");
  if (!place || !message) return;
  const text = Object.assign(document.createElement("p"), { textContent: message });
  const close = Object.assign(document.createElement("button"), { type: "button", className: "btn btn-quiet btn-small", textContent: "Dismiss" });
  const item = Object.assign(document.createElement("div"), { className: `toast toast-${kind === "problem" ? "problem" : "done"}` });
  item.append(text, close);
  close.addEventListener("click", () => item.remove());
  place.append(item);
  while (place.children.length > 3) place.firstElementChild.remove();
  if (kind !== "problem") leave(item);
}

// A message that is pointed at or focused stays until it is left.
function leave(item) {
  const later = () => setTimeout(() => item.remove(), STAYS_MS);
  let timer = later();
  for (const type of ["pointerenter", "focusin"]) item.addEventListener(type, () => clearTimeout(timer));
  for (const type of ["pointerleave", "focusout"]) item.addEventListener(type, () => { clearTimeout(timer); timer = later(); });
}

// Pages that come after a redirect carry their message in the page.
function flash() {
  const el = document.querySelector("[data-flash]");
  if (!el) return;
  toast({ message: el.textContent, kind: el.dataset.kind });
  el.remove();
  const address = new URL(location.href);
  if (!address.searchParams.has("done")) return;
  address.searchParams.delete("done"); // said once: a reload or Back does not say it again
  history.replaceState(history.state, "", address);
}

document.addEventListener("toast", (event) => toast(event.detail));
document.addEventListener("htmx:after:swap", flash);
document.addEventListener("htmx:error", (event) => {
  const { ctx, error } = event.detail;
  if (ctx && error?.name === "TypeError" && !ctx.response) toast({ message: "The desk did not answer. Check your connection and try again.", kind: "problem" });
});
flash();
