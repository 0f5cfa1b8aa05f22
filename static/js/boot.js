// Runs before the first paint: what would otherwise jump once the modules are there.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    root.dataset.copilot = sessionStorage.getItem("copilot") === "open" ? "open" : "closed";
  } catch {
    root.dataset.copilot = "closed"; // storage is refused: the drawer starts closed
  }
})();
