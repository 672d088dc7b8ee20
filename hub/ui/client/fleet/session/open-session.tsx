import {
  Alert,
  Button,
  Collapse,
  Group,
  Modal,
  NumberInput,
  Select,
  Stack,
  Switch,
  TextInput,
  UnstyledButton,
} from "@mantine/core";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { ApiError, call, seg } from "../../lib/http.ts";
import { errorText, useChange, useGet } from "../../lib/query.ts";
import { Command } from "../../parts/copy.tsx";
import { withoutLogin } from "../options/way-out.ts";
import { WayOutFields } from "../options/way-out-fields.tsx";
import { bodyOf, DEFAULTS, type NewSession } from "./new-session.ts";

/** The hub waits 8 s for a lane, and then the page may take its minute to load. */
const OPEN_MS = 80_000;

interface OpenSessionProps {
  opened: boolean;
  /** Chosen before anybody chose; "" for any. */
  worker_id: string;
  onClose: () => void;
}

export function OpenSession({ opened, worker_id, onClose }: OpenSessionProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Open a session">
      {opened && <Form worker_id={worker_id} onClose={onClose} />}
    </Modal>
  );
}

function Form({ worker_id, onClose }: Omit<OpenSessionProps, "opened">) {
  const [, navigate] = useLocation();
  const [values, setValues] = useState<NewSession>({ ...DEFAULTS, worker_id });
  const [more, setMore] = useState(false);
  const set = (changed: Partial<NewSession>) => setValues((before) => ({ ...before, ...changed }));
  const profiles = useGet<{ profiles: Profile[] }>("/profiles");
  const workers = useGet<{ workers: Worker[] }>("/workers");
  const body = bodyOf(values);
  // A login must not be readable over somebody's shoulder.
  const shown =
    typeof body.proxy === "string" ? { ...body, proxy: withoutLogin(body.proxy) } : body;
  const open = useChange(
    () => call<Session>("POST", "/sessions", { json: body, timeout_ms: OPEN_MS }),
    {
      failed: "The session was not opened",
      quiet: true,
      onDone: ({ session_id }) => navigate(`/ui/sessions/${seg(session_id)}`),
    },
  );
  const issues = open.error instanceof ApiError ? open.error.issues : [];
  const issueOf = (field: string) => issues.find(({ loc }) => loc.includes(field))?.msg;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    open.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Address"
          description="Empty: a blank page"
          placeholder="https://example.com/"
          data-autofocus
          value={values.url}
          error={issueOf("url")}
          onChange={(event) => set({ url: event.currentTarget.value })}
        />
        <Select
          label="Profile"
          description="With its logins, cookies and extensions"
          placeholder="None: a clean browser"
          clearable
          searchable
          nothingFoundMessage="No profile has this name"
          value={values.use_profile || null}
          error={issueOf("use_profile")}
          onChange={(name) => set({ use_profile: name ?? "" })}
          data={profiles.data?.profiles.map(({ name }) => name) ?? []}
        />
        <Switch
          label="Headless: without a window, watched through the page's own screenshots"
          checked={values.headless}
          onChange={(event) => set({ headless: event.currentTarget.checked })}
        />
        <UnstyledButton aria-expanded={more} onClick={() => setMore(!more)}>
          <Group gap={4} fz="sm">
            {more ? <IconChevronDown size={16} /> : <IconChevronRight size={16} />}
            More
          </Group>
        </UnstyledButton>
        <Collapse expanded={more}>
          <Stack gap="sm">
            <Select
              label="Worker"
              placeholder="Any with a free lane"
              clearable
              value={values.worker_id || null}
              error={issueOf("worker_id")}
              onChange={(id) => set({ worker_id: id ?? "" })}
              data={workerIds(workers.data?.workers ?? [], values.worker_id)}
            />
            <Group grow align="flex-start">
              <NumberInput
                label="Ends when idle for, s"
                min={5}
                max={86_400}
                value={values.idle_ttl_s}
                error={issueOf("idle_ttl_s")}
                onChange={(n) => set({ idle_ttl_s: n })}
              />
              <NumberInput
                label="Ends at the latest, s"
                min={5}
                max={864_000}
                value={values.ttl_s}
                error={issueOf("ttl_s")}
                onChange={(n) => set({ ttl_s: n })}
              />
            </Group>
            <Group grow align="flex-start">
              <NumberInput
                label="Width of the page, px"
                placeholder="1920"
                min={100}
                max={7_680}
                value={values.width}
                error={issueOf("width")}
                onChange={(n) => set({ width: n })}
              />
              <NumberInput
                label="Height of the page, px"
                placeholder="1080"
                min={100}
                max={4_320}
                value={values.height}
                error={issueOf("height")}
                onChange={(n) => set({ height: n })}
              />
            </Group>
            <WayOutFields values={values} set={set} issueOf={issueOf} />
            <Command
              text={`curl -X POST ${location.origin}/sessions -H 'content-type: application/json' \\\n  -d ${quote(JSON.stringify(shown))}`}
            />
          </Stack>
        </Collapse>
        {open.error && (
          <Alert color="red" role="alert" title="The session was not opened" className="wrap">
            {errorText(open.error)}
            {isFull(open.error) &&
              "\nEvery lane is taken. End a session on the wall, or try again when a job has ended."}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={open.isPending}>
            Open
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

const isFull = (err: unknown): boolean => err instanceof ApiError && err.status === 503;

/** One word of a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The one that the address names may no longer exist. */
function workerIds(workers: readonly Worker[], chosen: string): string[] {
  const ids = workers.filter(({ alive }) => alive).map(({ worker_id }) => worker_id);
  return chosen === "" || ids.includes(chosen) ? ids : [...ids, chosen];
}
