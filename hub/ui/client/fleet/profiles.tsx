import { Badge, Button, Group, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import { call } from "../lib/http.ts";
import { useChange, useGet } from "../lib/query.ts";
import { bytesText, countText } from "../lib/units.ts";
import { ConfirmButton } from "../parts/confirm.tsx";
import { Copy } from "../parts/copy.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { ExtensionNote } from "./profiles/extension-note.tsx";
import { UploadForm } from "./profiles/upload-form.tsx";

const columns = (cell: (one: Profile) => ReactNode): Column<Profile>[] => [
  {
    key: "name",
    title: "Name",
    width: "minmax(120px, 2fr)",
    cell: (one) => (
      <Group gap="xs" wrap="nowrap">
        <Clip text={one.name} mono />
        {one.is_default && (
          <Badge className="status" variant="light" flex="none">
            default
          </Badge>
        )}
      </Group>
    ),
  },
  {
    key: "size",
    title: "Size",
    width: "90px",
    align: "end",
    from: "sm",
    cell: (one) => bytesText(one.size),
  },
  {
    key: "files",
    title: "Files",
    width: "90px",
    align: "end",
    from: "sm",
    cell: (one) => countText(one.files),
  },
  {
    key: "browser",
    title: "From browser",
    width: "minmax(110px, 1fr)",
    from: "md",
    cell: (one) => <Clip text={one.source_browser} />,
  },
  {
    key: "sha256",
    title: "SHA-256",
    width: "150px",
    from: "lg",
    cell: (one) => (
      <Group gap={4} wrap="nowrap">
        <Clip text={one.sha256.slice(0, 12)} mono />
        <Copy text={one.sha256} label={`Copy the SHA-256 of ${one.name}`} />
      </Group>
    ),
  },
  {
    key: "updated",
    title: "Stored",
    width: "120px",
    from: "sm",
    cell: (one) => <Ago at={one.updated_at} />,
  },
  { key: "actions", title: "", width: "210px", align: "end", cell },
];

export function Page() {
  const profiles = useGet("/profiles");
  const makeDefault = useChange(
    (name: string) => call("POST /profiles/{name}/default", { params: { name } }),
    {
      done: (_, name) => `${name} is the default profile`,
      failed: "The default profile was not changed",
    },
  );
  const clear = useChange(() => call("DELETE /profiles/default"), {
    done: "There is no longer a default profile",
    failed: "The default profile was not cleared",
  });
  const remove = useChange(
    (name: string) => call("DELETE /profiles/{name}", { params: { name } }),
    {
      done: (_, name) => `${name} was deleted`,
      failed: "The profile was not deleted",
    },
  );
  const buttons = (one: Profile) => (
    <Group gap={6} wrap="nowrap" justify="flex-end">
      {one.is_default ? (
        <Button
          size="compact-xs"
          variant="default"
          loading={clear.isPending}
          aria-label={`Clear default: ${one.name}`}
          onClick={() => clear.mutate(undefined)}
        >
          Clear default
        </Button>
      ) : (
        <Button
          size="compact-xs"
          variant="default"
          loading={makeDefault.isPending && makeDefault.variables === one.name}
          aria-label={`Make default: ${one.name}`}
          onClick={() => makeDefault.mutate(one.name)}
        >
          Make default
        </Button>
      )}
      <ConfirmButton
        size="compact-xs"
        color="red"
        variant="light"
        aria-label={`Delete ${one.name}`}
        loading={remove.isPending && remove.variables === one.name}
        question={`Delete ${one.name}?`}
        text={
          one.is_default
            ? "It is the default profile: jobs that name none will start with an empty profile."
            : "Jobs that name it will be refused. Runs that have just received it can still use it for a few minutes."
        }
        confirm="Delete"
        onConfirm={() => remove.mutate(one.name)}
      >
        Delete
      </ConfirmButton>
    </Group>
  );
  return (
    <>
      <PageHead
        title="Profiles"
        note="Browser profiles with cookies, saved passwords, extensions and settings. use_profile starts a job in one; the default is for jobs that name none."
      />
      <Stack>
        <Loadable query={profiles}>
          {({ profiles: rows }) =>
            rows.length === 0 ? (
              <Paper withBorder>
                <Empty title="No profile is stored">
                  Jobs start with an empty browser. Upload a profile below, or save one from a
                  session.
                </Empty>
              </Paper>
            ) : (
              <>
                <DataTable
                  label="Profiles"
                  columns={columns(buttons)}
                  rows={rows}
                  rowKey={({ name }) => name}
                />
                <Text size="sm" c="dimmed">
                  Archives go only to workers and cannot be downloaded: they hold logins.
                </Text>
              </>
            )
          }
        </Loadable>
        <UploadForm names={profiles.data?.profiles.map(({ name }) => name) ?? []} />
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <ExtensionNote />
        </SimpleGrid>
      </Stack>
    </>
  );
}
