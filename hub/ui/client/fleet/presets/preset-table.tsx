import { Button, Group, Stack, Text } from "@mantine/core";
import { Link } from "wouter";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { call, seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Ago, Clip } from "../../parts/text.tsx";

const optionsText = (options: Record<string, unknown>): string =>
  Object.entries(options)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(", ") || "every default";

function Name({ preset }: { preset: Preset }) {
  return (
    <Stack gap={0}>
      <Clip text={preset.slug} />
      {(preset.name || preset.description) && (
        <Text
          size="xs"
          c="dimmed"
          truncate
          title={[preset.name, preset.description].filter(Boolean).join(". ")}
        >
          {[preset.name, preset.description].filter(Boolean).join(". ")}
        </Text>
      )}
    </Stack>
  );
}

function Actions({ preset, onEdit }: { preset: Preset; onEdit: (slug: string) => void }) {
  const { slug } = preset;
  const remove = useChange(() => call("DELETE /presets/{slug}", { params: { slug } }), {
    done: `Preset ${slug} is deleted`,
    failed: "The preset was not deleted",
  });
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button
        component={Link}
        href={`/ui/captures/new?preset=${seg(slug)}`}
        size="compact-sm"
        variant="light"
        aria-label={`Use ${slug}`}
      >
        Use
      </Button>
      <Button
        size="compact-sm"
        variant="default"
        aria-label={`Edit ${slug}`}
        onClick={() => onEdit(slug)}
      >
        Edit
      </Button>
      <ConfirmButton
        size="compact-sm"
        aria-label={`Delete ${slug}`}
        loading={remove.isPending}
        question={`Delete the preset ${slug}?`}
        text="Jobs that were submitted with it are not changed."
        onConfirm={() => remove.mutate(undefined)}
      >
        Delete
      </ConfirmButton>
    </Group>
  );
}

const columnsWith = (onEdit: (slug: string) => void): Column<Preset>[] => [
  {
    key: "slug",
    title: "Preset",
    width: "minmax(110px, 1fr)",
    cell: (preset) => <Name preset={preset} />,
  },
  {
    key: "options",
    title: "Options",
    width: "minmax(160px, 2fr)",
    from: "md",
    cell: ({ options }) => <Clip text={optionsText(options)} />,
  },
  {
    key: "updated",
    title: "Changed",
    width: "140px",
    from: "md",
    cell: ({ updated_at }) => <Ago at={updated_at} />,
  },
  {
    key: "actions",
    title: "Actions",
    width: "212px",
    align: "end",
    cell: (preset) => <Actions preset={preset} onEdit={onEdit} />,
  },
];

interface PresetTableProps {
  presets: readonly Preset[];
  onEdit: (slug: string) => void;
}

export function PresetTable({ presets, onEdit }: PresetTableProps) {
  return (
    <DataTable
      label="Presets"
      columns={columnsWith(onEdit)}
      rows={presets}
      rowKey={({ slug }) => slug}
      onOpen={({ slug }) => onEdit(slug)}
    />
  );
}
