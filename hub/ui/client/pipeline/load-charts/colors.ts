/** The series of a chart, in the order of the tokens; the legend names them. */
const SERIES = 6;

export const colorOf = (index: number): string => `--c-${(index % SERIES) + 1}`;
