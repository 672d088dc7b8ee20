/** Colours that are distinguishable on light and dark backgrounds; the legend names them. */
const COLORS = [
  "#1c7ed6",
  "#e8590c",
  "#2f9e44",
  "#ae3ec9",
  "#e03131",
  "#0c8599",
  "#f08c00",
  "#7048e8",
  "#66a80f",
  "#c2255c",
];

export const colorOf = (index: number): string => COLORS[index % COLORS.length] ?? "#1c7ed6";
