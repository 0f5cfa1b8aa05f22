// "Are you sure?", in the desk's own words, for htmx requests (hx-confirm) and plain forms (data-confirm).
const dialog = () => document.getElementById("confirm-dialog");
const agreed = new WeakSet();
let answer = null;

function ask(element, text) {
  const box = dialog();
  const { confirmTitle, confirmYes, confirmKind } = element.dataset;
  box.querySelector("#confirm-title").textContent = confirmTitle ?? "Are you sure?";
  box.querySelector("#confirm-text").textContent = text;
  const yes = box.querySelector("[data-confirm-yes]");
  yes.textContent = confirmYes ?? "Yes";
  yes.classList.toggle("btn-danger", confirmKind === "danger");
  box.returnValue = "";
  const opener = document.activeElement;
  box.showModal();
  box.querySelector("[data-confirm-no]").focus();
  return new Promise((resolve) => {
    answer = (said) => {
      answer = null;
      box.close();
      if (opener?.isConnected) opener.focus();
      resolve(said);
    };
  });
}

document.addEventListener("click", (event) => {
  if (event.target.closest?.("#confirm-dialog [data-confirm-yes]")) answer?.(true);
  else if (event.target.closest?.("#confirm-dialog [data-confirm-no]")) answer?.(false);
});
document.addEventListener("cancel", (event) => {
  if (event.target !== dialog()) return;
  event.preventDefault();
  answer?.(false);
}, true);

document.addEventListener("htmx:confirm", async (event) => {
  const { ctx, issueRequest, dropRequest } = event.detail;
  event.preventDefault();
  if (await ask(ctx.sourceElement, ctx.confirm)) return issueRequest();
  ctx.sourceElement.reset?.(); // a select goes back to what holds
  dropRequest();
});

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.confirm || agreed.has(form)) return;
  event.preventDefault();
  const { submitter } = event;
  if (!(await ask(form, form.dataset.confirm))) return;
  agreed.add(form);
  form.requestSubmit(submitter);
});
