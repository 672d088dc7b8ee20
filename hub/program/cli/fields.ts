import { printable } from "./print.ts";

/** Names and values of one thing; what has none is left out. */
export type Fields = readonly (readonly [name: string, value: string | null | undefined])[];

/** One field a line, the values below each other. */
export function fieldLines(fields: Fields): string {
  const told = fields.filter(([, value]) => value !== null && value !== undefined && value !== "");
  const width = Math.max(...told.map(([name]) => name.length));
  return told.map(([name, value]) => `${name.padEnd(width)}  ${printable(value ?? "")}`).join("\n");
}
