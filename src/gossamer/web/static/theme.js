// The theme that was chosen on this machine, set before the first paint. Not a module, since those run after it.
{
  const chosen = localStorage.getItem("gossamer.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
