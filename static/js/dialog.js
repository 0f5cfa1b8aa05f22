// The approval modal: opens when its content is swapped in, closes when it is swapped out. Closing is "Later".
const ARMED_AFTER_MS = 500; // the button must not stand where the finger already is
const modal = () => document.getElementById("approval-modal");
let opener = null;
let arming = 0;
let asked = null; // the approval that the person pressed Review for
let following = null; // what is on its way to be replaced

// "Later" is remembered: a proposal that was put off does not jump at one again after a reload or on another page.
const putOff = (id) => sessionStorage.getItem(`later:${id}`) !== null;

function show(dialog) {
  const fresh = !dialog.open;
  if (fresh) {
    opener = document.activeElement;
    dialog.showModal();
  }
  const content = dialog.querySelector("[data-open]");
  if (fresh || dialog.dataset.shown !== content.dataset.approval) arm(dialog);
  dialog.dataset.shown = content.dataset.approval;
  if (!dialog.contains(document.activeElement) || document.activeElement === dialog || fresh) {
    dialog.querySelector("[autofocus]")?.focus();
  }
  if (fresh) dialog.scrollTop = 0;
}

function arm(dialog) {
  const approve = dialog.querySelector("[data-approve]");
  if (!approve) return;
  approve.disabled = true;
  clearTimeout(arming);
  arming = setTimeout(() => { approve.disabled = false; }, ARMED_AFTER_MS);
}

function settle() {
  const dialog = modal();
  if (!dialog) return;
  const content = dialog.querySelector("[data-open]");
  if (!content) {
    if (dialog.open && !dialog.childElementCount) dialog.close();
  } else if (dialog.open || asked === content.dataset.approval || !putOff(content.dataset.approval)) {
    show(dialog);
  } else {
    dialog.replaceChildren();
  }
}

function closed() {
  const dialog = modal();
  clearTimeout(arming);
  delete dialog.dataset.shown;
  const content = dialog.querySelector("[data-open]");
  if (content) sessionStorage.setItem(`later:${content.dataset.approval}`, "1");
  dialog.replaceChildren(); // left for later: it stands in the drawer and under Approvals
  asked = null;
  const back = opener?.isConnected && opener !== document.body ? opener : document.getElementById("copilot-text") ?? document.getElementById("main");
  back?.focus();
  opener = null;
}

// Decided in another window, overtaken, or out of time: the modal asks how it stands.
function follow() {
  const dialog = modal();
  const shown = dialog?.open && dialog.querySelector("[data-approve]")?.closest("[data-approval]");
  if (!shown || shown === following || dialog.querySelector(".htmx-request")) return;
  const { approval, expired } = shown.dataset;
  const card = document.getElementById(`call-${approval}`);
  const wentOn = card && !card.matches(".approval-card, .tool-running, .tool-approved");
  if (!wentOn && expired === undefined) return;
  following = shown;
  htmx.ajax("GET", `/app/approvals/${approval}`, { target: shown, swap: "outerHTML" });
}

document.addEventListener("htmx:after:swap", settle);
document.addEventListener("htmx:after:swap", follow);
document.addEventListener("approval-expired", follow);
document.addEventListener("close", (event) => { if (event.target === modal()) closed(); }, true);

// Its summary goes away when "Reject…" opens: the reason takes the focus.
document.addEventListener("toggle", (event) => {
  if (event.target.matches?.(".reject[open]")) event.target.querySelector("textarea").focus();
}, true);

document.addEventListener("click", (event) => {
  const review = event.target.closest?.("[data-review]");
  if (review) asked = review.getAttribute("href").split("/").pop();
  if (event.target.closest?.("[data-close-dialog]")) modal()?.close();
  else if (event.target === modal() && !modal().hasAttribute("closedby")) modal().close();
});

// Enter never approves: a held or stray Enter must not write. Space and the pointer do.
document.addEventListener("keydown", (event) => {
  const approve = event.target.closest?.("[data-approve]");
  if (!approve || event.key !== "Enter") return;
  event.preventDefault();
  document.dispatchEvent(new CustomEvent("announce", { detail: "Press Space to approve." }));
}, true);

function busy(form, isBusy) {
  const button = form?.querySelector?.("[data-approve]");
  const label = button?.querySelector("[data-label]");
  if (!label) return;
  label.dataset.was ??= label.textContent;
  label.textContent = isBusy ? label.dataset.busy : label.dataset.was;
  if (!isBusy) button.disabled = false;
}
document.addEventListener("submit", (event) => busy(event.target, true));
document.addEventListener("htmx:error", (event) => busy(event.target, false));
document.addEventListener("htmx:response:error", (event) => busy(event.target, false));
