import { Anchor, Button, FileButton, Group, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import { pathOf } from "#shared/client/operation.ts";
import { limitText } from "#shared/kit/words.ts";
import type { PluginBlob } from "#shared/protocol/schema/plugin.ts";
import { pluginLimits } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useFilters } from "../../lib/filters.ts";
import { call } from "../../lib/http.ts";
import { useChange, useGet } from "../../lib/query.ts";
import { bytesText } from "../../lib/units.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { cursorOf, Pager } from "../../parts/pager.tsx";
import { QuickFilter } from "../../parts/quick-filter.tsx";
import { Empty, Loadable } from "../../parts/states.tsx";
import { Ago, Clip } from "../../parts/text.tsx";

const UPLOAD_MS = 120_000;
const LIMITS = pluginLimits();

function DeleteBlob({ slug, name }: { slug: string; name: string }) {
  const remove = useChange(
    () => call("DELETE /api/v1/plugins/{slug}/blob/{key}", { params: { slug, key: name } }),
    {
      done: `${name} deleted`,
      failed: `${name} was not deleted`,
    },
  );
  return (
    <ConfirmButton
      size="compact-xs"
      question={`Delete ${name}?`}
      confirm="Delete it"
      loading={remove.isPending}
      onConfirm={() => remove.mutate(undefined)}
      aria-label={`Delete ${name}`}
    >
      Delete
    </ConfirmButton>
  );
}

const blobPath = (slug: string, key: string): string =>
  pathOf("GET /api/v1/plugins/{slug}/blob/{key}", { params: { slug, key } });

const columnsOf = (slug: string): Column<PluginBlob>[] => [
  {
    key: "key",
    title: "Key",
    width: "minmax(150px, 2fr)",
    cell: ({ key }) => (
      // Served in its own sandbox, whatever it holds.
      <Anchor href={blobPath(slug, key)} target="_blank" rel="noreferrer noopener">
        <Clip text={key} mono />
      </Anchor>
    ),
  },
  {
    key: "size",
    title: "Size",
    width: "90px",
    align: "end",
    cell: ({ size }) => bytesText(size),
  },
  {
    key: "mime",
    title: "Type",
    width: "minmax(110px, 1fr)",
    from: "sm",
    cell: ({ mime }) => <Clip text={mime} />,
  },
  {
    key: "changed",
    title: "Changed",
    width: "130px",
    from: "sm",
    cell: ({ updated_at }) => <Ago at={updated_at} />,
  },
  {
    key: "delete",
    title: "Delete",
    width: "90px",
    cell: ({ key }) => <DeleteBlob slug={slug} name={key} />,
  },
];

/** Files that a plugin keeps. */
export function Blobs({ slug }: { slug: string }) {
  const [filters, set] = useFilters({ prefix: "", page: "" });
  const [key, setKey] = useState("");
  const at = pathOf("GET /api/v1/plugins/{slug}/blob", { params: { slug } });
  const query = useGet("/api/v1/plugins/{slug}/blob", {
    params: { slug },
    query: { prefix: filters.prefix, cursor: cursorOf(filters.page), limit: 50 },
  });
  const upload = useChange(
    (file: File) =>
      call("PUT /api/v1/plugins/{slug}/blob/{key}", {
        params: { slug, key: key || file.name },
        body: file,
        headers: { "content-type": file.type || "application/octet-stream" },
        timeout_ms: UPLOAD_MS,
      }),
    {
      done: (_, file) => `${key || file.name} stored`,
      failed: "The blob was not stored",
      onDone: () => setKey(""),
    },
  );
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <QuickFilter
          label="Keys that begin with"
          placeholder="Keys that begin with"
          value={filters.prefix}
          onChange={(prefix) => set({ prefix, page: "" })}
        />
        <TextInput
          size="xs"
          w={220}
          aria-label="Key of the upload"
          placeholder="Key; the file's name by default"
          value={key}
          onChange={(event) => setKey(event.currentTarget.value)}
        />
        <FileButton onChange={(file) => file && upload.mutate(file)}>
          {(props) => (
            <Button {...props} size="xs" variant="default" loading={upload.isPending}>
              Upload a file
            </Button>
          )}
        </FileButton>
      </Group>
      <Loadable query={query}>
        {({ blobs, next_cursor }) =>
          blobs.length === 0 ? (
            <Empty
              title="No blobs"
              command={`curl -X PUT ${location.origin}${at}/chart.png -H 'content-type: image/png' --data-binary @chart.png`}
            >
              The plugin, its page or anybody else may store files of at most{" "}
              {limitText(LIMITS.blob)}.
            </Empty>
          ) : (
            <>
              <DataTable
                label="Blobs"
                columns={columnsOf(slug)}
                rows={blobs}
                rowKey={(blob) => blob.key}
              />
              <Pager
                trail={filters.page}
                next={next_cursor}
                shown={blobs.length}
                onGo={(page) => set({ page })}
              />
            </>
          )
        }
      </Loadable>
    </Stack>
  );
}
