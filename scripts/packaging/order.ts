import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hashSources } from "#shared/protocol/version.ts";
import { ROOT } from "../build.ts";
import { demandSection } from "./changelog.ts";
import { type ReleaseTarget, targetsOf } from "./targets.ts";

/** What `scripts/release` was asked for. */
export interface ReleaseOrder {
  key_file: string;
  /** Directory of the result. */
  to: string;
  /** `0.2.0`. */
  name: string;
  released_at: string;
  targets: readonly ReleaseTarget[];
  /** Where its files will be served; null: whoever installs it says so. */
  url: string | null;
  /** `Name <address>` of whoever makes Debian's packages. */
  maintainer: string;
}

const USAGE = `release KEYFILE [TAG] [--to DIR] [--url ADDRESS] [--targets NAME,…] [--maintainer 'Name <address>']
  KEYFILE  the release key: openssl genpkey -algorithm ed25519 -out release.key makes one
  TAG      v0.2.0; without it: a release of this checkout as it is, to try`;

/** @throws Error with the usage */
export class UsageError extends Error {}

const refuse = (why: string): never => {
  throw new UsageError(`release: ${why}\n${USAGE}`);
};

export interface Asked {
  order: ReleaseOrder;
  /** The tag to make it from; null: this checkout. */
  tag: string | null;
  /** Words for the release that the tag's own scripts make. */
  passed_on: string[];
}

/** As Debian's tools name the person, else somebody whom nobody takes for one. */
function maintainerOf(given: string | undefined, env: Record<string, string | undefined>): string {
  if (given !== undefined) return given;
  if (!env.DEBEMAIL) return "The Flotilla authors <maintainers@flotilla.example>";
  return env.DEBEMAIL.includes("<")
    ? env.DEBEMAIL
    : `${env.DEBFULLNAME ?? ""} <${env.DEBEMAIL}>`.trim();
}

function readUrl(url: string | undefined): string | null {
  if (url === undefined) return null;
  // It becomes part of a shell script.
  if (/^https?:\/\/[A-Za-z0-9._~:/?@!,;=%+-]+$/.test(url)) return url.replace(/\/+$/, "");
  return refuse(`--url: "${url}" is not an http or https address`);
}

/** @throws UsageError */
export function readOrder(argv: string[], env: Record<string, string | undefined>): Asked {
  const { values, positionals } = parse(argv);
  const [key_file = env.FLOTILLA_RELEASE_KEY, tag = null, ...more] = positionals;
  if (!key_file) return refuse("name the file of the release key");
  if (more.length > 0) return refuse(`unexpected "${more[0]}"`);
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const order: ReleaseOrder = {
    key_file,
    to: values.to ?? join(ROOT, "dist/release"),
    name: values.name ?? `${version}+${hashSources(ROOT)}`,
    released_at: values.at ?? new Date().toISOString(),
    targets: targetsOf(values.targets?.split(",") ?? []),
    url: readUrl(values.url),
    maintainer: maintainerOf(values.maintainer, env),
  };
  const passed_on = ["url", "targets", "maintainer"].flatMap((name) => {
    const value = values[name as "url"];
    return value === undefined ? [] : [`--${name}`, value];
  });
  return { order, tag, passed_on };
}

function parse(argv: string[]) {
  const text = { type: "string" } as const;
  const options = {
    to: text,
    url: text,
    targets: text,
    maintainer: text,
    // What the release of a tag is told by the checkout that it was asked of.
    name: text,
    at: text,
  };
  try {
    return parseArgs({ args: argv, options, allowPositionals: true });
  } catch (err) {
    return refuse(err instanceof Error ? err.message : String(err));
  }
}

/** What the version of a tag is called. @throws Error when package.json or the changelog of the tag do not agree */
export function nameOfTag(tag: string, package_json: string, changelog: string): string {
  const { version } = JSON.parse(package_json) as { version: string };
  if (tag !== `v${version}`)
    throw new Error(
      `the tag ${tag} has version ${version} in its package.json: it must be v${version}`,
    );
  demandSection(changelog, version);
  return version;
}
