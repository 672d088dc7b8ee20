import type { HitKind, SearchHit } from "#shared/protocol/schema/search.ts";
import type { WhoIAm } from "../lib/logins.ts";
import { PAGES } from "../pages.tsx";
import {
  type HitAction,
  hitActions,
  hitHref,
  isOfKinds,
  KIND_NAMES,
  ofKinds,
  type Wish,
} from "./palette-hits.ts";
import type { Recent } from "./palette-recent.ts";
import { PLACES } from "./places.ts";
import { type KnownSetting, settingEntries } from "./setting-entries.ts";

/** One line of the palette: it leads somewhere, or does something. */
export interface Entry {
  id: string;
  label: string;
  description: string;
  href?: string;
  action?: HitAction;
}

export interface Group {
  group: string;
  entries: Entry[];
}

const MOST_HITS = 12;
const MOST_PAGES = 6;
const MOST_ACTIONS = 4;

const has = (text: string, words: readonly string[]): boolean => {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
};

const pageEntries = (words: readonly string[]): Entry[] =>
  PAGES.flatMap(({ path, title, place, nav }) =>
    nav && has(`${title} ${nav.label} ${nav.words ?? ""}`, words)
      ? [
          {
            id: path,
            label: title,
            description: PLACES.find((one) => one.place === place)?.title ?? "",
            href: path,
          },
        ]
      : [],
  );

const stateText = (state: string | null): string => (state === null ? "" : `, ${state}`);

const hitEntry = (hit: SearchHit): Entry => ({
  id: hit.href,
  label: hit.title,
  description: `${KIND_NAMES[hit.kind]}${stateText(hit.state)} · ${hit.detail === hit.title ? hit.id : hit.detail}`,
  href: hitHref(hit),
});

const actionEntries = (hit: SearchHit, verb: string | null, who: WhoIAm | null): Entry[] =>
  hitActions(hit, who)
    .filter((action) => verb === null || action.verb === verb)
    .map((action) => ({
      id: `${action.verb} ${hit.href}`,
      label: `${action.label} ${hit.title}`,
      description: `${KIND_NAMES[hit.kind]}${stateText(hit.state)} · ${hit.id}`,
      action,
    }));

interface Known {
  hits: readonly SearchHit[];
  /** Kinds whose part of the search has not answered yet. */
  incomplete: readonly HitKind[];
  settings: readonly KnownSetting[];
  recent: readonly Recent[];
  /** Who asks: what their role may not do is not offered. */
  who: WhoIAm | null;
}

/** That there may be more, and of what: a list that is cut off must not look whole. */
const stillSearched = (kinds: readonly HitKind[]): Entry[] =>
  kinds.length === 0
    ? []
    : [
        {
          id: "incomplete",
          label: `Still searching: ${kinds.map((kind) => `${KIND_NAMES[kind]}s`).join(", ")}`,
          description: "The hub is busy. What it finds appears here.",
        },
      ];

/** What the palette lists for a text, best first. */
export function entriesFor(
  { verb, kinds, words, text }: Wish,
  { hits: all, incomplete, settings, recent, who }: Known,
): Group[] {
  if (words === "" && verb === null)
    return [
      {
        group: "Recent",
        entries: recent.map((one) => ({ id: `recent ${one.href}`, ...one })),
      },
      { group: "Pages", entries: pageEntries([]) },
    ];
  const given = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = ofKinds(all, kinds);
  const actions = hits.flatMap((hit) => actionEntries(hit, verb, who)).slice(0, MOST_ACTIONS);
  const found = hits.slice(0, MOST_HITS).map(hitEntry);
  const missing = incomplete.filter((kind) => isOfKinds(kind, kinds));
  const more = { group: "Not searched yet", entries: stillSearched(missing) };
  if (verb !== null && verb !== "open")
    return [{ group: "Actions", entries: actions }, { group: "Found", entries: found }, more];
  const pages = pageEntries(given).slice(0, MOST_PAGES);
  const named = pages.filter(({ label }) => label.toLowerCase().startsWith(text.toLowerCase()));
  return [
    { group: "Pages", entries: named },
    { group: "Found", entries: found },
    { group: "Actions", entries: actions },
    { group: "More pages", entries: pages.filter((page) => !named.includes(page)) },
    { group: "Settings", entries: settingEntries(settings, given) },
    more,
  ];
}
