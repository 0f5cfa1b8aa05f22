// After a boosted navigation: focus the page as a full load would, unless something there asked for it or one is in the drawer.
document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail.ctx?.target !== document.body) return;
  const active = document.activeElement;
  if (active && active !== document.body) return;
  const main = document.getElementById("main");
  if (main?.querySelector("[autofocus]")) return;
  main?.focus({ preventScroll: true });
  document.dispatchEvent(new CustomEvent("announce", { detail: document.title }));
});
