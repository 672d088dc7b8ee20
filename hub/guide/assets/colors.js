// Runs before anything is drawn: a reader who has chosen colours in the app gets the same here.
try {
  const chosen = localStorage.getItem("flotilla-colors");
  if (chosen === "light" || chosen === "dark") document.documentElement.style.colorScheme = chosen;
} catch {
  // Storage is switched off in this browser; the system's colours are fine.
}
