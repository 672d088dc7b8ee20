import type { LockedPackage } from "./locked-packages.ts";

const RULE = "-".repeat(72);

/** Licences of what the executable is made of, as these licences ask for: one text for each that is different. */
export function thirdPartyNotices(packages: readonly LockedPackage[], bun: string): string {
  const by_text = new Map<string, string[]>();
  for (const { name, version, license, notices } of packages) {
    const text = notices.map((notice) => notice.text.trim()).join("\n\n");
    const names = by_text.get(text) ?? [];
    names.push(`${name} ${version} (${license ?? "see below"})`);
    by_text.set(text, names);
  }
  const parts = [...by_text].map(([text, names]) =>
    [names.join("\n"), text || "Its package holds no text of its licence."].join("\n\n"),
  );
  return `Flotilla is made of the packages below, whose licences follow, and runs in Bun ${bun}, which is under the MIT License
and holds JavaScriptCore (LGPL-2) and other libraries: its own documentation lists them.

${RULE}
${parts.join(`\n\n${RULE}\n`)}
`;
}
