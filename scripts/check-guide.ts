import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { Glob } from "bun";
import MarkdownIt from "markdown-it";
import { readContents } from "#hub/guide/contents.ts";
import { parsePage, sectionsOf } from "#hub/guide/markdown.ts";
import { type CommandBlock, commandBlocks } from "./guide-commands.ts";

/**
 * Every link and every citation leads somewhere, every command is run by a test, and nothing cites a text that is not in the
 * repository.
 */

const ROOT = join(import.meta.dir, "..");
const GUIDE = "hub/guide";
/** Documents beside the guide whose links are checked. */
const DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
const SOURCES =
  "{hub,worker,shared,drizzle,scripts,test}/**/*.{ts,tsx,js,mjs,py,sql,md,css,html,jsonc,service,toml}";
/** Documents and shell scripts. */
const OTHERS = "{*.md,scripts/*}";
const LEFT_OUT =
  /(^|\/)node_modules\/|^scripts\/bench\/peers\/|^(scripts|test\/unit)\/check-guide\./;
/** What a server has beside the guide, as pages of the guide may link to it. */
const SERVED = /^\/($|guide($|[/#])|docs$|openapi\.json$|llms\.txt$|ui\/)/;

/**
 * Headings with commands that name what has to be there first, marked `sh seeded`, and the test that makes it and runs each
 * of them; a page without a heading stands for all of its own. Blocks that are marked `sh` are run by whoever pastes the page
 * (test/support/rigs/guide-reader.ts). There are no others: what nobody runs is no command of the guide.
 */
const SEEDED_BY: Readonly<Record<string, string>> = {
  "design/benchmarks.md#measuring-an-engine": "test/long/benchmarks-page.test.ts",
  "design/benchmarks.md#the-long-tests": "test/long/benchmarks-page.test.ts",
  "how-to/backup.md#with-postgres": "test/ops/lan/several-machines.test.ts",
  "how-to/backup.md#with-sqlite": "test/ops/lan/backup.test.ts",
  "how-to/configuration.md#secrets-in-files": "test/ops/lan/credentials.test.ts",
  "how-to/mcp.md#browser-servers-of-other-makers": "test/e2e/browser-servers.test.ts",
  "how-to/mcp.md#claude-code": "test/ops/packages/claude-code.test.ts",
  "how-to/monitoring.md#logs": "test/ops/lan/journal.test.ts",
  "how-to/recordings.md#open-what-a-script-did-in-playwrights-trace-viewer":
    "test/e2e/playwright-trace.test.ts",
  "how-to/releases.md#debian-and-ubuntu": "test/ops/lan/releases.test.ts",
  "how-to/releases.md#in-a-container": "test/ops/packages/release.test.ts",
  "how-to/releases.md#one-line": "test/ops/lan/releases.test.ts",
  "how-to/releases.md#publish-a-release": "test/ops/packages/release.test.ts",
  "how-to/releases.md#upgrade-one-machine": "test/ops/lan/releases.test.ts",
  "how-to/several-machines.md#hubs": "test/ops/lan/several-machines.test.ts",
  "how-to/several-machines.md#postgres-and-redis": "test/ops/lan/several-machines.test.ts",
  "how-to/several-machines.md#the-router": "test/ops/lan/several-machines.test.ts",
  "how-to/several-machines.md#workers": "test/ops/lan/several-machines.test.ts",
  "how-to/signed-updates.md#verify-a-download": "test/ops/release.test.ts",
  "how-to/upgrades.md#from-an-older-version": "test/ops/lan/upgrade-from.test.ts",
  "how-to/upgrades.md#rollback": "test/ops/lan/install.test.ts",
  "how-to/upgrades.md#upgrade": "test/ops/lan/install.test.ts",
  "how-to/video.md#videos": "test/ops/packages/guide.test.ts",
  "reference/cli.md": "test/e2e/cli-examples.test.ts",
  "start/install.md#one-command": "test/ops/quickstart.test.ts",
};

/** Files by their path from the root. */
export type Texts = ReadonlyMap<string, string>;

interface Look {
  readonly texts: Texts;
  /** Whether there is such a file or directory, of any kind. */
  exists(path: string): boolean;
  /** Anchors of a Markdown file. */
  anchors(path: string): ReadonlySet<string>;
}

const isPage = (path: string): boolean => path.startsWith(`${GUIDE}/`) && path.endsWith(".md");

/** Addresses of links and pictures of a document. */
const linksOf = (text: string): string[] =>
  parsePage(text)
    .flatMap(({ children }) => children ?? [])
    .filter(({ type }) => type === "link_open" || type === "image")
    .map((token) => String(token.attrGet("href") ?? token.attrGet("src")));

/** What is wrong with one link of the document at `path`; null: nothing. */
function judgeLink(look: Look, path: string, href: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return null;
  if (href.startsWith("/") && isPage(path))
    return SERVED.test(href) ? null : "no server of this program has such an address";
  const [file = "", anchor] = decodeURI(href).split("#", 2);
  const target = file === "" ? path : normalize(join(dirname(path), file)).replace(/\/$/, "");
  if (isPage(path) && !isPage(target))
    return "a page of the guide links to pages of the guide alone";
  if (!look.exists(target)) return "there is no such file";
  if (anchor === undefined || !target.endsWith(".md")) return null;
  return look.anchors(target).has(anchor) ? null : `${target} has no such heading`;
}

const judgeLinks = (look: Look): string[] =>
  [...look.texts]
    .filter(([path]) => isPage(path) || DOCUMENTS.includes(path))
    .flatMap(([path, text]) =>
      linksOf(text).flatMap((href) => {
        const wrong = judgeLink(look, path, href);
        return wrong === null ? [] : [`${path}: the link ${href} leads nowhere: ${wrong}`];
      }),
    );

/** Every page is listed in index.md, once; that the listed ones are there is judged by their links. */
function judgeContents({ texts }: Look): string[] {
  const { chapters } = readContents(texts.get(`${GUIDE}/index.md`) ?? "");
  const listed = chapters.flatMap(({ entries }) => entries.map(({ path }) => `${GUIDE}/${path}`));
  const pages = [...texts.keys()].filter((path) => isPage(path) && path !== `${GUIDE}/index.md`);
  return [
    ...pages
      .filter((path) => !listed.includes(path))
      .map((path) => `${path} is not in ${GUIDE}/index.md`),
    ...listed
      .filter((path, i) => listed.indexOf(path) !== i)
      .map((path) => `${GUIDE}/index.md lists ${path} twice`),
  ];
}

/** Finds HTML where the guide's own renderer sees text. */
const withHtml = new MarkdownIt({ html: true });

/** The form of a page: a title, a sentence, code that says its language, no HTML. */
function judgePage([path, text]: [string, string]): string[] {
  const tokens = parsePage(text);
  const problems: string[] = [];
  if (tokens[0]?.tag !== "h1" || tokens[3]?.type !== "paragraph_open")
    problems.push("it does not begin with a title and a sentence");
  if (sectionsOf(text).filter(({ level }) => level === 1).length > 1)
    problems.push("it has more than one title");
  for (const { type, info, map } of tokens)
    if (type === "code_block" || (type === "fence" && info.trim() === ""))
      problems.push(`the code at line ${(map?.[0] ?? 0) + 1} does not say its language`);
  const html = withHtml.parse(text, {}).flatMap((token) => [token, ...(token.children ?? [])]);
  for (const { content } of html.filter(({ type }) => type.startsWith("html_")))
    problems.push(`it has HTML: ${content.trim().slice(0, 60)}`);
  return problems.map((problem) => `${path}: ${problem}`);
}

/** The heading of {@link SEEDED_BY} that a block on `page` belongs to; undefined: there is none. */
const seedOf = (page: string, { section }: CommandBlock): string | undefined =>
  [`${page}#${section}`, page].find((heading) => SEEDED_BY[heading] !== undefined);

/** What is wrong with the test that is to run the seeded commands below `heading`; null: nothing. */
function judgeSeed({ texts, exists }: Look, heading: string, seeded: CommandBlock[]) {
  const test = SEEDED_BY[heading] ?? "";
  const [page = "", section] = heading.split("#");
  const where = section === undefined ? "" : ` below #${section}`;
  if (!seeded.some((block) => seedOf(page, block) === heading))
    return `it has no seeded commands${where} for ${test}`;
  if (!exists(test)) return `${test}, which runs its seeded commands${where}, is not there`;
  return texts.get(test)?.includes(`"${heading}"`)
    ? null
    : `${test}, which runs its seeded commands${where}, does not name "${heading}"`;
}

/** Marks that say nothing of who runs the commands, and commands that are left to a test which does not run them. */
function judgeCommands(look: Look, [path, text]: [string, string]): string[] {
  const page = path.slice(GUIDE.length + 1);
  const blocks = commandBlocks(text);
  const seeded = blocks.filter(({ mark }) => mark === "seeded");
  const headings = Object.keys(SEEDED_BY).filter((heading) => heading.split("#")[0] === page);
  return [
    ...blocks
      .filter(({ mark }) => !["", "seeded"].includes(mark))
      .map(({ mark, line }) => `nothing is known of the mark "${mark}" at line ${line}`),
    ...seeded
      .filter((block) => seedOf(page, block) === undefined)
      .map(({ line }) => `no test runs the seeded commands at line ${line}`),
    ...headings.flatMap((heading) => judgeSeed(look, heading, seeded) ?? []),
  ].map((problem) => `${path}: ${problem}`);
}

const CITATION = /(?<![\w./-])(rules\/[\w-]+)#([\w-]+)/g;
/** In code that runs: an address of the guide as a text of its own. */
const ADDRESS = /["'`]\/guide\/([\w-]+\/[\w/-]+)(?:#([\w-]+))?["'`]/g;
const RUNS = /^(hub|worker|shared)\/.*\.(ts|tsx)$/;

/** Citations of rules and addresses of pages that lead to no heading. */
function judgeCitations({ texts, anchors }: Look): string[] {
  const judge = (path: string, cited: string, page: string, slug: string | undefined): string[] => {
    const file = `${GUIDE}/${page}.md`;
    if (!texts.has(file)) return [`${path}: ${cited} leads nowhere: there is no ${file}`];
    if (slug === undefined || anchors(file).has(slug)) return [];
    return [`${path}: ${cited} leads nowhere: ${file} has no such heading`];
  };
  return [...texts].flatMap(([path, text]) =>
    [...text.matchAll(CITATION), ...(RUNS.test(path) ? text.matchAll(ADDRESS) : [])].flatMap(
      ([cited, page = "", slug]) => judge(path, cited, page, slug),
    ),
  );
}

/** Sections of other texts than RFCs, and names under which other texts are cited. */
const FOREIGN =
  /(?<!RFC \d+,? )§|\b(fleet|pipeline) spec\b|\(R\d+\)|\bresearch(\s+§|\/|\))|(?<![\w./-])design\/[\w-]+\.md/i;

/** In code: a page of the guide's chapter about the design, with a heading, as a test names what it runs. */
const OF_DESIGN = /"design\/[\w-]+\.md#/g;

/** Lines that cite what is not in the repository. In Markdown `design/` is a chapter of the guide. */
const judgeForeign = ({ texts }: Look): string[] =>
  [...texts].flatMap(([path, text]) =>
    text
      .replaceAll(path.endsWith(".md") ? "design/" : OF_DESIGN, "")
      .split("\n")
      .flatMap((line, i) =>
        FOREIGN.test(line)
          ? [`${path}:${i + 1} cites a text that is not here; cite a rule: rules/page#heading`]
          : [],
      ),
  );

/** Every violation, one line each. */
export function judgeGuide(texts: Texts, exists: Look["exists"]): string[] {
  const known = new Map<string, ReadonlySet<string>>();
  const look: Look = {
    texts,
    exists,
    anchors: (path) => {
      const found =
        known.get(path) ?? new Set(sectionsOf(texts.get(path) ?? "").map(({ slug }) => slug));
      known.set(path, found);
      return found;
    },
  };
  const pages = [...texts].filter(([path]) => isPage(path));
  return [
    ...judgeContents(look),
    ...pages.flatMap(judgePage),
    ...pages.flatMap((page) => judgeCommands(look, page)),
    ...judgeLinks(look),
    ...judgeCitations(look),
    ...judgeForeign(look),
  ];
}

export async function readTexts(root: string): Promise<Texts> {
  const found = await Array.fromAsync(new Glob(SOURCES).scan(root));
  const others = await Array.fromAsync(new Glob(OTHERS).scan(root));
  const paths = [...new Set([...found, ...others])].filter((path) => !LEFT_OUT.test(path)).sort();
  const read = async (path: string) => [path, await Bun.file(join(root, path)).text()] as const;
  return new Map(await Promise.all(paths.map(read)));
}

if (import.meta.main) {
  const texts = await readTexts(ROOT);
  const exists = (path: string) =>
    existsSync(join(ROOT, path)) && (isPage(path) ? statSync(join(ROOT, path)).isFile() : true);
  const problems = judgeGuide(texts, exists);
  for (const problem of problems) console.error(problem);
  process.exit(problems.length > 0 ? 1 : 0);
}
