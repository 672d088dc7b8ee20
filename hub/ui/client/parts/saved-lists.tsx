import { Button, Group } from "@mantine/core";
import type { ReactNode } from "react";
import type { SavedList, SavedListPage } from "#shared/protocol/schema/saved-list.ts";
import { call } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import { ConfirmButton } from "./confirm.tsx";
import { SaveList } from "./saved-lists/save-list.tsx";

type Filters = Readonly<Record<string, string>>;

interface SavedListsProps {
  page: SavedListPage;
  /** Those of the address now, without the place in the list. */
  filters: Filters;
  /** What the list is called without filters, where it can be without. */
  all?: string;
  /** Filters of a saved list, or none. */
  onChoose: (filters: Filters) => void;
  /** How many things the list has now. */
  count?: (filters: Filters) => ReactNode;
}

const setOnes = (filters: Filters): Filters =>
  Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== ""));
const isSame = (a: Filters, b: Filters): boolean => {
  const [one, other] = [setOnes(a), setOnes(b)];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => one[name] === other[name]);
};

/** The saved lists of a page as tabs, and a way to save the one that is shown (rules/saved-lists#in-the-web-app). */
export function SavedLists({ page, filters, all, onChoose, count }: SavedListsProps) {
  const { data } = useGet("/api/v1/saved-lists", { query: { page } });
  const lists = data?.saved_lists ?? [];
  const current = lists.find((list) => isSame(list.filters, filters));
  const filtered = Object.keys(setOnes(filters)).length > 0;
  if (lists.length === 0 && !filtered) return null;
  return (
    <Group gap="xs" mb="sm" component="nav" aria-label="Saved lists">
      {all !== undefined && (
        <Tab chosen={!filtered} onClick={() => onChoose({})}>
          {all}
        </Tab>
      )}
      {lists.map((list) => (
        <Tab
          key={list.name}
          chosen={list === current}
          title={`Saved by ${list.saved_by}`}
          count={count?.(list.filters)}
          onClick={() => onChoose(list.filters)}
        >
          {list.name}
        </Tab>
      ))}
      {filtered && !current && <SaveList page={page} filters={setOnes(filters)} />}
      {current && <Forget list={current} />}
    </Group>
  );
}

interface TabProps {
  chosen: boolean;
  title?: string;
  count?: ReactNode;
  onClick: () => void;
  children: string;
}

const Tab = ({ chosen, title, count, onClick, children }: TabProps) => (
  <Button
    size="xs"
    variant={chosen ? "light" : "subtle"}
    color={chosen ? undefined : "gray"}
    aria-current={chosen ? "page" : undefined}
    title={title}
    rightSection={count}
    onClick={onClick}
  >
    {children}
  </Button>
);

function Forget({ list: { page, name } }: { list: SavedList }) {
  const forget = useChange(
    () => call("DELETE /api/v1/saved-lists/{page}/{name}", { params: { page, name } }),
    { done: `“${name}” was deleted`, failed: "The saved list was not deleted" },
  );
  return (
    <ConfirmButton
      size="xs"
      variant="subtle"
      color="red"
      question={`Forget the saved list “${name}”?`}
      text="It is gone for everybody. What it lists stays."
      confirm="Forget it"
      onConfirm={() => forget.mutate(undefined)}
    >
      Forget this list
    </ConfirmButton>
  );
}
