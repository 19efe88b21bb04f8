// Runs before the first paint, so that a page with a chosen theme never shows the other one.
(() => {
  const asked = new URLSearchParams(location.search).get("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  let kept = null;
  try {
    kept = localStorage.getItem("moorage.theme");
  } catch {
    // Storage may be switched off; then the theme lives in the address only.
  }
  const theme = [asked, kept, dark].find((one) => one === "dark" || one === "light");
  document.documentElement.dataset.theme = theme;
})();
