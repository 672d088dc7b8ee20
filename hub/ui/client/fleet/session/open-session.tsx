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
import { useState } from "react";
import { useLocation } from "wouter";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Worker } from "#shared/protocol/schema/worker.ts";
import { numberProps } from "../../forms/number-props.ts";
import { faultAt, useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { sessionHref } from "../../lib/links.ts";
import { errorText, useGet } from "../../lib/query.ts";
import { Command } from "../../parts/copy.tsx";
import { FieldHelp } from "../../parts/field-help.tsx";
import { BrowserOptions } from "../options/browser-options.tsx";
import { RecordSelect } from "../options/record-select.tsx";
import { shownProxy } from "../options/way-out.ts";
import { EgressFields, FieldGroup, ProxyFields } from "../options/way-out-fields.tsx";
import { bodyOf, DEFAULTS, OPEN_MS, RULES } from "./new-session.ts";

const CLOCKS = [
  { value: "now", label: "The present time" },
  { value: "capture", label: "The time of the capture" },
];

/** What a field does: the words of its schema, or those of this form. */
const about = (field: keyof typeof RULES, text?: string) => (
  <FieldHelp of="CreateSession" field={field}>
    {text ?? RULES[field]?.description}
  </FieldHelp>
);

/** The fields that are shown before "More". */
const FIRST = new Set(["url", "use_profile", "headless"]);

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
  const [more, setMore] = useState(false);
  const profiles = useGet("/profiles");
  const workers = useGet("/workers");
  const {
    form,
    saving: open,
    props,
  } = useApiForm({
    initial: { ...DEFAULTS, worker_id },
    rules: RULES,
    bodyOf,
    send: (json) => call("POST /sessions", { json, timeout_ms: OPEN_MS }),
    failed: "The session was not opened",
    onDone: ({ session_id }) => navigate(sessionHref(session_id)),
    // No field stays hidden that has to be corrected.
    onRefused: (faults) => setMore((before) => before || faults.some((path) => !FIRST.has(path))),
  });
  const { values } = form;
  // A login must not be readable over somebody's shoulder.
  const shown = bodyOf({ ...values, proxy: values.proxy && shownProxy(values.proxy) });
  const issueOf = (field: string) => faultAt(form.errors, field);
  return (
    <form {...props}>
      <Stack gap="sm">
        <TextInput
          label="Address"
          description={about("url", "Empty: a blank page")}
          placeholder="https://example.com/"
          data-autofocus
          {...form.getInputProps("url")}
        />
        <Select
          label="Profile"
          description={about("use_profile", "With its logins, cookies and settings")}
          placeholder="None: a clean browser"
          clearable
          searchable
          nothingFoundMessage="No profile has this name"
          {...form.getInputProps("use_profile")}
          value={values.use_profile || null}
          onChange={(name) => form.setFieldValue("use_profile", name ?? "")}
          data={profiles.data?.profiles.map(({ name }) => name) ?? []}
        />
        <Switch
          label="Headless"
          aria-label="Headless"
          description={about("headless")}
          {...form.getInputProps("headless", { type: "checkbox" })}
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
              description={about("worker_id")}
              placeholder="Any with a free lane"
              clearable
              {...form.getInputProps("worker_id")}
              value={values.worker_id || null}
              onChange={(id) => form.setFieldValue("worker_id", id ?? "")}
              data={workerIds(workers.data?.workers ?? [], values.worker_id)}
            />
            <Group grow align="flex-start">
              <NumberInput
                label="Ends when idle for, s"
                description={about("idle_ttl_s")}
                {...numberProps(RULES.idle_ttl_s)}
                {...form.getInputProps("idle_ttl_s")}
              />
              <NumberInput
                label="Ends at the latest, s"
                description={about("ttl_s")}
                {...numberProps(RULES.ttl_s)}
                {...form.getInputProps("ttl_s")}
              />
            </Group>
            <BrowserOptions
              given={values.browser}
              form={form}
              at=""
              onChange={(browser) => form.setFieldValue("browser", browser)}
            />
            <RecordSelect
              description={about("record", "What is kept of the session when it has ended")}
              otherwise="As the host or the fleet's setting says"
              value={values.record}
              error={issueOf("record")}
              onChange={(record) => form.setValues({ record })}
            />
            <FieldGroup label="Where it may connect to" description={about("egress")}>
              <EgressFields
                value={values.egress}
                error={issueOf("egress")}
                onChange={(egress) => form.setValues({ egress })}
              />
            </FieldGroup>
            <FieldGroup label="Proxy" description={about("proxy")}>
              <ProxyFields
                value={values.proxy}
                error={issueOf("proxy")}
                onChange={(proxy) => form.setValues({ proxy })}
              />
            </FieldGroup>
            <TextInput
              label="Replay of the job"
              description={about("replay", "Show its capture, and nothing leaves the machine")}
              placeholder="The id of a job; empty: the web"
              {...form.getInputProps("replay")}
            />
            {values.replay.trim() !== "" && (
              <Select
                label="Clock of the replay"
                description={about("replay_clock")}
                allowDeselect={false}
                {...form.getInputProps("replay_clock")}
                data={CLOCKS}
              />
            )}
            <Command
              text={`curl -X POST ${location.origin}/sessions -H 'content-type: application/json' \\\n  -d ${quote(JSON.stringify(shown))}`}
            />
          </Stack>
        </Collapse>
        {open.error && (
          <Alert color="red" role="alert" title="The session was not opened" className="wrap">
            {errorText(open.error)}
            {isFull(open.error) &&
              "\nEvery lane is taken. End a session under Browsers, or try again when a job has ended."}
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

const isFull = (err: unknown): boolean => err instanceof FlotillaError && err.status === 503;

/** One word of a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The one that the address names may no longer exist. */
function workerIds(workers: readonly Worker[], chosen: string): string[] {
  const ids = workers.filter(({ alive }) => alive).map(({ worker_id }) => worker_id);
  return chosen === "" || ids.includes(chosen) ? ids : [...ids, chosen];
}
