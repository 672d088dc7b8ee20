import { useDebouncedValue } from "@mantine/hooks";
import { Spotlight, type SpotlightActionData } from "@mantine/spotlight";
import { IconBook, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { SearchResult } from "#shared/protocol/schema/search.ts";
import { lookWho } from "../lib/http.ts";
import { info } from "../lib/info.ts";
import { whoAmI } from "../lib/logins.ts";
import { queryClient, tellDone, tellError, useGet } from "../lib/query.ts";
import { useWho } from "../lib/use-who.ts";
import { useRoom } from "../lib/width.ts";
import { type Entry, entriesFor } from "./palette-entries.ts";
import { type HitAction, readAsked } from "./palette-hits.ts";
import { recent, remember } from "./palette-recent.ts";
import type { KnownSetting } from "./setting-entries.ts";

const TYPING_MS = 120;
const MOST = 10;
/** The most that a search answers: hits of other kinds are left out here. */
const MOST_OF_ALL_KINDS = 50;
/** How soon to ask for the part of a search that a busy hub has left out. */
const AGAIN_MS = 2_000;

/** Asks once more while an answer lacks something; a whole one stays as it is. */
const againWhile = ({ state }: { state: { data?: SearchResult } }): number | false =>
  state.data?.incomplete.length ? AGAIN_MS : false;

/** Hits of both services; those of an earlier text are not shown, because Enter would open them. */
function useHits(words: string, limit: number) {
  const [asked] = useDebouncedValue(words, TYPING_MS);
  const wanted = asked !== "" && words !== "";
  const given = { query: { q: asked.slice(0, 200), limit } };
  const fleet = useGet("/search", given, {
    enabled: wanted && info.fleet,
    refetchInterval: againWhile,
    retry: false,
  });
  const pipeline = useGet("/api/v1/search", given, {
    enabled: wanted,
    refetchInterval: againWhile,
    retry: false,
  });
  const answers = [fleet.data, pipeline.data].filter((one) => one?.q === asked);
  return {
    hits: wanted && asked === words ? answers.flatMap((one) => one?.hits ?? []) : [],
    failed: wanted && (fleet.isError || pipeline.isError),
    pending: words !== "" && (asked !== words || fleet.isFetching || pipeline.isFetching),
    incomplete: answers.flatMap((one) => one?.incomplete ?? []),
  };
}

/** The settings of both services. */
function useSettings(enabled: boolean): KnownSetting[] {
  const seldom = { refetchInterval: false as const, retry: false };
  const fleet = useGet("/settings", {}, { ...seldom, enabled: enabled && info.fleet });
  const control = useGet("/api/v1/settings", {}, { ...seldom, enabled });
  return [
    ...Object.keys(fleet.data?.settings ?? {}).map((key) => ({ key, part: "fleet" as const })),
    ...(control.data?.settings ?? []).map(({ key }) => ({ key, part: "pipeline" as const })),
  ];
}

async function perform({ run, done, label }: HitAction): Promise<void> {
  try {
    await run();
    tellDone(done);
    await queryClient.invalidateQueries();
  } catch (err) {
    tellError(`${label} did not work`, err);
  }
}

const GUIDE: SpotlightActionData = {
  id: "guide",
  label: "Guide",
  description: "How to use Flotilla, and its rules",
  leftSection: <IconBook size={18} />,
  onClick: () => window.open("/guide", "_blank"),
};

/** Ctrl+K: finds what the hub knows and does things with it, by the keyboard alone. */
export function Palette() {
  const [, navigate] = useLocation();
  const [query, setQuery] = useState("");
  const [opened, setOpened] = useState(false);
  const [step, setStep] = useState<HitAction | null>(null);
  const phone = useRoom() === "phone";
  const who = useWho();
  const asked = readAsked(query);
  const { hits, failed, pending, incomplete } = useHits(
    opened ? asked.words : "",
    asked.kinds === null ? MOST : MOST_OF_ALL_KINDS,
  );
  const settings = useSettings(opened);
  const toAction = (entry: Entry): SpotlightActionData => ({
    id: entry.id,
    label: entry.label,
    description: entry.description,
    closeSpotlightOnTrigger: entry.action ? !entry.action.question : entry.href !== undefined,
    onClick: () => {
      const { action, href } = entry;
      if (action?.question !== undefined) setStep(action);
      else if (action) void perform(action);
      else if (href !== undefined) {
        remember({ label: entry.label, description: entry.description, href });
        navigate(href);
      }
    },
  });
  const groups = entriesFor(asked, {
    hits,
    incomplete,
    settings,
    recent: opened ? recent() : [],
    who,
  })
    .filter(({ entries }) => entries.length > 0)
    .map(({ group, entries }) => ({ group, actions: entries.map(toAction) }));
  const guide = "guide help documentation rules api".includes(query.trim().toLowerCase());
  const help = guide ? [{ group: "Help", actions: [GUIDE] }] : [];
  return (
    <Spotlight
      actions={step ? confirmStep(step, () => setStep(null)) : [...groups, ...help]}
      // They are chosen already.
      filter={(_, actions) => actions}
      query={query}
      onQueryChange={(text) => {
        setStep(null);
        setQuery(text);
      }}
      onSpotlightOpen={() => {
        setOpened(true);
        // The server may have been away when the app began.
        if (whoAmI() === null) void lookWho().catch(() => {});
      }}
      onSpotlightClose={() => {
        setOpened(false);
        setStep(null);
      }}
      shortcut={["mod + K", "mod + P"]}
      // Also while a field has the keyboard.
      tagsToIgnore={[]}
      limit={60}
      scrollable
      maxHeight={phone ? "calc(100dvh - 60px)" : 440}
      fullScreen={phone}
      attributes={{ content: { "aria-label": "Find or do" } }}
      nothingFound={nothingText({ pending, failed })}
      searchProps={{
        leftSection: <IconSearch size={18} />,
        placeholder: "Find or do",
        "aria-label": "Find or do",
      }}
    />
  );
}

function nothingText(now: { pending: boolean; failed: boolean }): string {
  if (now.pending) return "Searching";
  if (now.failed) return "The search did not work: the hub cannot be reached";
  return "Nothing was found. Words of a title, an id, a key, a host or a label are.";
}

/** What ends something is asked for once more. */
function confirmStep(action: HitAction, back: () => void) {
  return [
    {
      group: "Are you sure?",
      actions: [
        {
          id: "confirm",
          label: action.label,
          description: action.question,
          c: "red",
          onClick: () => void perform(action),
        },
        { id: "back", label: "No, go back", closeSpotlightOnTrigger: false, onClick: back },
      ],
    },
  ];
}
