import type { Guide } from "./contents.ts";

/** `/llms.txt` in the form of llmstxt.org: a title, a summary, and links to the text of each page. */
export function llmsText({ title, summary, chapters, files }: Guide): string {
  const lists = chapters.flatMap(({ title: chapter, entries }) => {
    const links = entries
      .filter(({ path }) => files.has(path))
      .map(({ path, title: name, summary: what }) => `- [${name}](/guide/${path}): ${what}`);
    return links.length === 0 ? [] : [`## ${chapter}`, links.join("\n")];
  });
  const machine = [
    "- [OpenAPI description](/openapi.json): every call of the HTTP API, with its schemas and examples.",
    "- [Search](/guide/search?q=session): the headings of this guide that fit the words in `q`, as JSON.",
  ];
  return `${[`# ${title}`, `> ${summary}`, ...lists, "## API", machine.join("\n")].join("\n\n")}\n`;
}
