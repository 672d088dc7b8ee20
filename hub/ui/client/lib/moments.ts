import { clockText, digits } from "./units.ts";

/** A moment to the minute as `<input type="datetime-local">` has it, in this browser's time zone; nothing for none. */
export function momentText(moment: string | number): string {
  const at = new Date(moment);
  if (Number.isNaN(at.getTime())) return "";
  // Not by the zone's offset, which is of whole minutes: while a year is typed it is one of long ago, when zones had seconds.
  const day = [digits(4, at.getFullYear()), digits(2, at.getMonth() + 1), digits(2, at.getDate())];
  return `${day.join("-")}T${clockText(at)}`;
}

/**
 * The field's value as the address and the API have it; nothing for anything that is not a moment, such as the year
 * 20266.
 */
export function momentOf(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
