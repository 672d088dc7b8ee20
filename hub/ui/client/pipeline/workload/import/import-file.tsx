import {
  Alert,
  Button,
  Checkbox,
  Code,
  Group,
  Select,
  Stack,
  Table,
  Text,
  TextInput,
} from "@mantine/core";
import { type DragEvent, useRef, useState } from "react";
import type { ImportFormat, ImportResult } from "#shared/protocol/schema/task-import.ts";
import { call } from "../../../lib/http.ts";
import { errorText, useChange } from "../../../lib/query.ts";
import { bytesText, countText } from "../../../lib/units.ts";

/** As long as the server takes a file for. */
const IMPORT_MS = 600_000;
const SHOWN = 8;

const formatOf = ({ name, type }: File): ImportFormat =>
  /\.(jsonl|ndjson|json)$/i.test(name) || /json/.test(type) ? "jsonl" : "csv";

interface Mapping {
  key: string;
  columns: string;
  typed: boolean;
  skip_faults: boolean;
}
interface Chosen extends Mapping {
  file: File;
}

const PLAIN: Mapping = { key: "", columns: "", typed: false, skip_faults: false };

function useImport(slug: string, dry_run: boolean, onDone?: () => void) {
  return useChange(
    ({ file, ...mapping }: Chosen) =>
      call("POST /api/v1/workloads/{slug}/tasks/import", {
        params: { slug },
        query: { ...mapping, format: formatOf(file), dry_run, preview: SHOWN },
        body: file,
        timeout_ms: IMPORT_MS,
      }),
    { failed: "The file was not read", quiet: true, ...(onDone ? { onDone } : {}) },
  );
}

const cellText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "");

/** The first tasks as they would be submitted. */
function PreviewTable({ tasks }: Pick<ImportResult, "tasks">) {
  const names = [...new Set(tasks.flatMap(({ extra }) => Object.keys(extra ?? {})))].slice(0, 8);
  if (tasks.length === 0) return null;
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table aria-label="First tasks" withTableBorder>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Key</Table.Th>
            {names.map((name) => (
              <Table.Th key={name}>{name}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tasks.map(({ pk, extra }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a file may hold a key twice
            <Table.Tr key={i}>
              <Table.Td>
                <code>{pk}</code>
              </Table.Td>
              {names.map((name) => (
                <Table.Td key={name} className="wrap">
                  {cellText(extra?.[name] ?? "").slice(0, 80)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Faults({ faults, fault_count }: Pick<ImportResult, "faults" | "fault_count">) {
  if (fault_count === 0) return null;
  const title =
    fault_count === 1 ? "1 line has a fault" : `${countText(fault_count)} lines have faults`;
  return (
    <Alert color="red" title={title} role="status">
      <Code block className="wrap" mah={160} tabIndex={0} style={{ overflow: "auto" }}>
        {faults.map(({ line, error }) => `line ${line}: ${error}`).join("\n")}
      </Code>
    </Alert>
  );
}

/** Where a file is dropped or chosen. */
function DropZone({ onFile }: { onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = (files: FileList | null | undefined) => {
    const file = files?.[0];
    if (file) onFile(file);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    take(event.dataTransfer.files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button in it does the same
    <div
      className="drop-zone"
      data-over={over || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Group justify="center">
        <Text size="sm">Drop a CSV or JSONL file here</Text>
        <Button variant="default" onClick={() => input.current?.click()}>
          Choose a file…
        </Button>
        <input
          ref={input}
          type="file"
          hidden
          aria-label="File with tasks"
          accept=".csv,.tsv,.txt,.jsonl,.ndjson,text/csv,application/x-ndjson"
          onChange={(event) => {
            take(event.currentTarget.files);
            event.currentTarget.value = "";
          }}
        />
      </Group>
    </div>
  );
}

interface MappingFieldsProps {
  chosen: Chosen;
  found: ImportResult;
  onChange: (to: Chosen) => void;
}

function MappingFields({ chosen, found, onChange }: MappingFieldsProps) {
  const csv = found.format === "csv";
  return (
    <Stack gap="xs">
      <Group align="start">
        <Select
          label="Key"
          description="Names each task"
          data={found.columns}
          value={chosen.key || found.key}
          clearable={!csv}
          placeholder={csv ? "" : "the lines are tasks"}
          onChange={(key) => onChange({ ...chosen, key: key ?? "" })}
        />
        <TextInput
          label="Columns of extra"
          description="Such as url,breite=width; empty: all others"
          flex={1}
          miw={220}
          defaultValue={chosen.columns}
          onBlur={(event) => {
            const columns = event.currentTarget.value.trim();
            if (columns !== chosen.columns) onChange({ ...chosen, columns });
          }}
        />
      </Group>
      <Group>
        {csv && (
          <Checkbox
            label="Numbers, true and false are values, not text"
            checked={chosen.typed}
            onChange={(event) => onChange({ ...chosen, typed: event.currentTarget.checked })}
          />
        )}
        {found.fault_count > 0 && (
          <Checkbox
            label="Leave faulty lines out"
            checked={chosen.skip_faults}
            onChange={(event) => onChange({ ...chosen, skip_faults: event.currentTarget.checked })}
          />
        )}
      </Group>
    </Stack>
  );
}

const inWords = ({ rows, duplicates, fault_count }: ImportResult): string =>
  [
    `${countText(rows)} ${rows === 1 ? "row" : "rows"}`,
    duplicates > 0 &&
      `${countText(duplicates)} duplicates, whose keys are in the queue or stand earlier in the file`,
    fault_count > 0 && `${countText(fault_count)} with faults`,
  ]
    .filter(Boolean)
    .join(" · ");

/** A file whose rows become tasks: shown and judged by the server first, then submitted. */
export function ImportFile({ slug }: { slug: string }) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const look = useImport(slug, true);
  const send = useImport(slug, false, () => setChosen(null));
  const choose = (to: Chosen) => {
    setChosen(to);
    send.reset();
    look.mutate(to);
  };
  const found = look.data;
  const ready = found ? found.rows - found.duplicates - found.fault_count : 0;
  const blocked = found !== undefined && found.fault_count > 0 && chosen?.skip_faults !== true;
  return (
    <Stack maw={820} gap="sm">
      <DropZone onFile={(file) => choose({ ...PLAIN, file })} />
      {chosen && (
        <Text size="sm">
          <b>{chosen.file.name}</b>, {bytesText(chosen.file.size)}
          {found && !look.error ? ` · ${inWords(found)}` : look.isPending ? " · is being read" : ""}
        </Text>
      )}
      {chosen && (look.error ?? send.error) && (
        <Alert color="red" title="The file was not read" role="alert">
          <Text size="sm" className="wrap">
            {errorText(look.error ?? send.error)}
          </Text>
        </Alert>
      )}
      {chosen && found && !look.error && (
        <>
          <MappingFields chosen={chosen} found={found} onChange={choose} />
          <PreviewTable tasks={found.tasks} />
          <Faults faults={found.faults} fault_count={found.fault_count} />
          <Group>
            <Button
              loading={send.isPending}
              disabled={look.isPending || blocked || ready <= 0}
              onClick={() => send.mutate(chosen)}
            >
              Submit {countText(Math.max(ready, 0))} {ready === 1 ? "task" : "tasks"}
            </Button>
            <Button variant="default" onClick={() => setChosen(null)}>
              Not this file
            </Button>
            {blocked && (
              <Text size="sm" c="dimmed">
                Correct these lines, or leave them out.
              </Text>
            )}
          </Group>
        </>
      )}
      {send.data && !chosen && (
        <Alert color="teal" title={`${countText(send.data.submitted)} submitted`} role="status">
          <Text size="sm">
            {countText(send.data.duplicates)} duplicates were left alone
            {send.data.fault_count > 0 &&
              `, ${countText(send.data.fault_count)} faulty lines left out`}
            .
          </Text>
        </Alert>
      )}
    </Stack>
  );
}
