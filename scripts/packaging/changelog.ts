/** The changelog's sections: what the notes of a release and Debian's changelog are made of. */

export interface Section {
  /** `0.2.0`, or `Unreleased`. */
  name: string;
  /** `2026-11-22`; null: not published. */
  date: string | null;
  /** Its text, without its heading. */
  text: string;
}

const HEADING = /^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?[ \t]*$/gm;

export function readSections(changelog: string): Section[] {
  const found = [...changelog.matchAll(HEADING)];
  return found.map((heading, i) => ({
    name: heading[1] ?? "",
    date: heading[2] ?? null,
    text: changelog.slice(heading.index + heading[0].length, found[i + 1]?.index).trim(),
  }));
}

/** @throws Error when the changelog says nothing of it, or not when it was published */
export function demandSection(changelog: string, name: string): Section {
  const section = readSections(changelog).find((each) => each.name === name);
  if (section === undefined || section.date === null || section.text === "")
    throw new Error(`CHANGELOG.md needs a section "## [${name}] - YYYY-MM-DD" with what changed`);
  return section;
}

const WIDTH = 78;

/** Words in lines, the first after `bullet`. */
function wrap(words: string, bullet: string): string[] {
  const lines: string[] = [];
  for (const word of words.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`;
    else
      lines.push(lines.length === 0 ? `${bullet}${word}` : `${" ".repeat(bullet.length)}${word}`);
  }
  return lines;
}

const entriesOf = ({ text }: Section): string[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("- "))
    .flatMap((line) => wrap(line.slice(2).replaceAll("**", ""), "  * "));

const debianDate = (date: Date): string => date.toUTCString().replace("GMT", "+0000");

export interface DebianVersion {
  /** What the release is called, and what Debian makes of that. */
  name: string;
  version: string;
  released_at: string;
  /** `Name <address>`. */
  maintainer: string;
}

/** `changelog` of Debian's package: this version, and each that was published before it. */
export function debianChangelog(
  changelog: string,
  { name: own_name, version, released_at, maintainer }: DebianVersion,
): string {
  const sections = readSections(changelog);
  const own = sections.find(({ name }) => name === own_name) ?? sections[0];
  const before = sections.filter(({ date, name }) => date !== null && name !== own?.name);
  const parts = [
    { version, date: new Date(released_at), lines: own === undefined ? [] : entriesOf(own) },
    ...before.map((section) => ({
      version: section.name,
      date: new Date(`${section.date}T00:00:00Z`),
      lines: entriesOf(section),
    })),
  ];
  return parts
    .map(
      ({ version: name, date, lines }) =>
        `flotilla (${name}) stable; urgency=medium\n\n${(lines.length > 0 ? lines : ["  * A build between two releases."]).join("\n")}\n\n -- ${maintainer}  ${debianDate(date)}\n`,
    )
    .join("\n");
}
