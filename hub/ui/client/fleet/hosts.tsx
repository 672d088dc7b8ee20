import { Button, Group, Text, TextInput } from "@mantine/core";
import { IconPlus, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import type { Host } from "#shared/protocol/schema/host.ts";
import { usePeek } from "../lib/chosen.ts";
import { knownOf, useFilters } from "../lib/filters.ts";
import { call } from "../lib/http.ts";
import { hostHref } from "../lib/links.ts";
import { useChange, useGet } from "../lib/query.ts";
import { countText } from "../lib/units.ts";
import { Beside } from "../parts/beside.tsx";
import { ConfirmButton } from "../parts/confirm.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { RowLink } from "../parts/row-link.tsx";
import { ListCount } from "../parts/saved-lists/list-count.tsx";
import { SavedLists } from "../parts/saved-lists.tsx";
import { SelectionBar } from "../parts/selection-bar.tsx";
import { Empty, Loadable, NothingMatches } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { CookieSyncNote } from "./hosts/cookie-sync-note.tsx";
import { HostPanel } from "./hosts/host-panel.tsx";
import { NewHost } from "./hosts/new-host.tsx";

/** The text of a host that the filter searches. */
const wordsOf = ({ host, notes, recipes }: Host): string =>
  `${host} ${notes} ${recipes.map((one) => `${one.pattern} ${one.description}`).join(" ")}`;

/** Those whose text has every word of `q`. */
function hostsWith(hosts: readonly Host[], q: string): Host[] {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return hosts.filter((one) => {
    const text = wordsOf(one).toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const NONE = { q: "" };

const COLUMNS: Column<Host>[] = [
  {
    key: "host",
    title: "Host",
    width: "minmax(120px, 2fr)",
    cell: ({ host }) => (
      <RowLink href={hostHref(host)}>
        <Clip text={host} mono />
      </RowLink>
    ),
  },
  {
    key: "recipes",
    title: "Recipes",
    width: "84px",
    align: "end",
    cell: (one) => countText(one.recipes.length),
  },
  {
    key: "login",
    title: "Login recipe",
    width: "110px",
    from: "sm",
    cell: (one) => (one.login_recipe ? "yes" : "–"),
  },
  {
    key: "cookies",
    title: "Cookies",
    width: "84px",
    align: "end",
    cell: (one) => countText(one.cookies.length),
  },
  {
    key: "popups",
    title: "Popups",
    width: "100px",
    from: "md",
    cell: (one) => one.popup_policy.replace("_", " "),
  },
  {
    key: "notes",
    title: "Notes",
    width: "minmax(120px, 2fr)",
    from: "md",
    cell: (one) => <Clip text={one.notes.split("\n")[0]} />,
  },
  {
    key: "updated",
    title: "Changed",
    width: "120px",
    from: "sm",
    cell: (one) => <Ago at={one.updated_at} />,
  },
];

export function Page() {
  const [{ q }, setFilters] = useFilters(NONE);
  const [selected, setSelected] = useState<Set<string>>(new Set());
  const { chosen: shown_name, choose, close } = usePeek();
  const [adding, setAdding] = useState(false);
  const hosts = useGet("/hosts");
  const remove = useChange(
    (names: string[]) =>
      Promise.all(
        names.map((name) => call("DELETE /hosts/{host}", { params: { host: name } })),
      ).then(() => names),
    {
      done: (names) => (names.length === 1 ? "The host was deleted" : "The hosts were deleted"),
      failed: "Not every host was deleted",
      onDone: () => setSelected(new Set()),
    },
  );
  const all = hosts.data?.hosts ?? [];
  const shown = all.find(({ host }) => host === shown_name);
  const rows = hostsWith(all, q);
  const chosen = rows.filter(({ host }) => selected.has(host)).map(({ host }) => host);
  return (
    <>
      <PageHead
        title="Hosts"
        note="What jobs do on a site: recipes that run after the page has loaded, a login, cookies and what happens to popups."
        count={hosts.data && countText(all.length)}
        primary={
          <Button leftSection={<IconPlus size={16} />} onClick={() => setAdding(true)}>
            New host
          </Button>
        }
      />
      <NewHost opened={adding} onClose={() => setAdding(false)} hrefOf={hostHref} />
      <Beside
        name="hosts"
        title={shown_name}
        detail={shown && <HostPanel key={shown_name} host={shown} />}
        onClose={close}
      >
        <Loadable query={hosts}>
          {() =>
            all.length === 0 ? (
              <Empty
                title="No host has settings yet"
                command={`curl -X PUT ${location.origin}/hosts/example.org -H 'content-type: application/json' -d '{"notes": "our shop", "popup_policy": "block"}'`}
                action={<Button onClick={() => setAdding(true)}>New host</Button>}
              >
                Jobs can open any host without settings. Add a host to give its pages a recipe, a
                login or cookies.
              </Empty>
            ) : (
              <>
                <SavedLists
                  page="hosts"
                  all="All hosts"
                  filters={{ q }}
                  count={(saved) => (
                    <ListCount count={hostsWith(all, knownOf(NONE, saved).q).length} />
                  )}
                  onChoose={(saved) => setFilters(knownOf(NONE, saved), { push: true })}
                />
                <Group mb="sm" justify="space-between">
                  <TextInput
                    data-filter
                    aria-label="Filter hosts"
                    placeholder="Filter by name, note or pattern"
                    leftSection={<IconSearch size={16} />}
                    value={q}
                    onChange={(event) => setFilters({ q: event.currentTarget.value })}
                    w={{ base: "100%", sm: 320 }}
                  />
                  {rows.length !== all.length && (
                    <Text size="sm" c="dimmed">
                      {countText(rows.length)} of {countText(all.length)}
                    </Text>
                  )}
                </Group>
                {rows.length === 0 ? (
                  <NothingMatches onClear={() => setFilters({ q: "" })} />
                ) : (
                  <DataTable
                    label="Hosts"
                    columns={COLUMNS}
                    rows={rows}
                    rowKey={({ host }) => host}
                    href={({ host }) => hostHref(host)}
                    current={shown_name}
                    onOpen={choose && (({ host }) => choose(host))}
                    selected={new Set(chosen)}
                    onSelect={setSelected}
                  />
                )}
                <SelectionBar count={chosen.length} onClear={() => setSelected(new Set())}>
                  <ConfirmButton
                    size="xs"
                    color="red"
                    variant="subtle"
                    loading={remove.isPending}
                    question={
                      chosen.length === 1
                        ? `Delete ${chosen[0]}?`
                        : `Delete ${chosen.length} hosts?`
                    }
                    text="Their recipes, logins and cookies are deleted too. Running jobs keep what they were given."
                    onConfirm={() => remove.mutate(chosen)}
                  >
                    Delete
                  </ConfirmButton>
                </SelectionBar>
              </>
            )
          }
        </Loadable>
        <CookieSyncNote />
      </Beside>
    </>
  );
}
