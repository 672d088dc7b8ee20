import { Button, Group, Stack, TextInput } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { type ComponentType, Fragment, type ReactNode } from "react";
import { useFilters } from "../../lib/filters.ts";
import { Beside } from "../../parts/beside.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loadable, NothingMatches } from "../../parts/states.tsx";

export interface Named {
  slug: string;
}

export interface FormProps<T extends Named> {
  /** Null: a new one. */
  record: T | null;
  /** Whether there is one with this slug. */
  taken: (slug: string) => boolean;
  onDone: () => void;
}

interface RegistryPageProps<T extends Named, D> {
  title: string;
  /** "engine": in the texts of buttons and messages. */
  noun: string;
  list: UseQueryResult<D>;
  recordsOf: (list: D) => readonly T[];
  note: ReactNode;
  columns: Column<T>[];
  /** What the text filter looks through. */
  textOf: (row: T) => string;
  /** What a further filter keeps. */
  keep?: (row: T) => boolean;
  /** Further filters, beside the text. */
  filters?: ReactNode;
  /** Whether a further filter is set: an empty list then does not mean an empty registry. */
  narrowed?: boolean;
  empty: { text: string; command: string };
  Form: ComponentType<FormProps<T>>;
}

/** A list of named records with the form of one beside it: `?edit=` and `?create=1` of the address open it. */
export function RegistryPage<T extends Named, D>(props: RegistryPageProps<T, D>) {
  const { title, noun, list, recordsOf, columns, textOf, keep = () => true, Form } = props;
  const [filters, set] = useFilters({ q: "", edit: "", create: "" });
  const close = () => set({ edit: "", create: "" });
  const wanted = filters.q.toLowerCase();
  const create = () => set({ create: "1", edit: "" }, { push: true });
  const newButton = (
    <Button leftSection={<IconPlus size={16} />} onClick={create}>
      New {noun}
    </Button>
  );
  return (
    <>
      <PageHead title={title} note={props.note} primary={newButton} />
      <Loadable query={list}>
        {(data) => {
          const all = recordsOf(data);
          const rows = all.filter((row) => keep(row) && textOf(row).toLowerCase().includes(wanted));
          const record = all.find(({ slug }) => slug === filters.edit);
          const form = (of: T | null) => (
            <Form
              record={of}
              taken={(slug) => all.some((known) => known.slug === slug)}
              onDone={close}
            />
          );
          const missing = (
            <Empty title={`There is no ${noun} with this name`}>
              It may have been deleted, or a filter leaves it out.
            </Empty>
          );
          const detail = filters.create
            ? form(null)
            : filters.edit && (record ? form(record) : missing);
          return (
            <Beside
              name={`library-${noun}`}
              detail={detail && <Fragment key={filters.create || filters.edit}>{detail}</Fragment>}
              title={filters.create ? `New ${noun}` : filters.edit}
              onClose={close}
            >
              <Stack gap="sm">
                {(all.length > 0 || props.narrowed) && (
                  <Group gap="xs">
                    <TextInput
                      size="xs"
                      w={{ base: 150, sm: 220 }}
                      aria-label={`Filter ${title.toLowerCase()}`}
                      placeholder="Filter"
                      data-filter
                      value={filters.q}
                      onChange={(event) => set({ q: event.currentTarget.value })}
                    />
                    {props.filters}
                  </Group>
                )}
                {all.length === 0 && !props.narrowed ? (
                  <Empty
                    title={`There is no ${noun} yet`}
                    command={props.empty.command}
                    action={newButton}
                  >
                    {props.empty.text}
                  </Empty>
                ) : rows.length === 0 ? (
                  <NothingMatches onClear={() => set({ q: "" })} />
                ) : (
                  <DataTable
                    label={title}
                    columns={columns}
                    rows={rows}
                    rowKey={({ slug }) => slug}
                    current={filters.edit}
                    onOpen={({ slug }) => set({ edit: slug, create: "" }, { push: true })}
                  />
                )}
              </Stack>
            </Beside>
          );
        }}
      </Loadable>
    </>
  );
}
