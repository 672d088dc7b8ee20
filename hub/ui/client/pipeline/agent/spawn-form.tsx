import { Button, Modal, MultiSelect, NumberInput, Select, Stack, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, useState } from "react";
import type { Agent, Instance, SpawnInstances } from "#shared/protocol/schema/agent.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { call } from "../../lib/http.ts";
import { useChange, useGet } from "../../lib/query.ts";
import { ErrorNote } from "../../parts/states.tsx";

interface Fields {
  host: string | null;
  count: number | string;
  slots: number | string;
  workloads: string[];
  instance_id: string;
}
const EMPTY: Fields = { host: null, count: 1, slots: "", workloads: [], instance_id: "" };

/** What is left empty is the server's or the worker's own choice. */
const bodyOf = ({
  host,
  count,
  slots,
  workloads,
  instance_id,
}: Fields): Partial<SpawnInstances> => ({
  count: Number(count) || 1,
  ...(host !== null && { host }),
  ...(slots !== "" && { slots: Number(slots) }),
  ...(workloads.length > 0 && { workloads }),
  // Its field is closed when there are several.
  ...(instance_id !== "" && Number(count) <= 1 && { instance_id }),
});

/** Starts worker instances on a host with an agent (rules/pipeline-agents#spawn-instances). */
export function SpawnButton({ agents }: { agents: readonly Agent[] }) {
  const [opened, { open, close }] = useDisclosure(false);
  const [fields, setFields] = useState(EMPTY);
  const put = (changed: Partial<Fields>) => setFields((before) => ({ ...before, ...changed }));
  const workloads = useGet<{ workloads: Workload[] }>("/api/v1/workloads", {}, { enabled: opened });
  const spawn = useChange(
    (json: Partial<SpawnInstances>) =>
      call<{ instances: Instance[] }>("POST", "/api/v1/workers/elastic/spawn", { json }),
    {
      done: ({ instances }) =>
        `${instances.map(({ instance_id }) => instance_id).join(", ")}: started at the agent's next report`,
      failed: "No instance was started",
      quiet: true,
      onDone: () => {
        close();
        setFields(EMPTY);
      },
    },
  );
  const leave = () => {
    // Opened again it does not say what became of another try.
    spawn.reset();
    close();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    spawn.mutate(bodyOf(fields));
  };
  return (
    <>
      <Button size="xs" disabled={agents.length === 0} onClick={open}>
        Start workers
      </Button>
      <Modal opened={opened} onClose={leave} title="Start workers on a host">
        <form onSubmit={submit}>
          <Stack gap="sm">
            {spawn.error && <ErrorNote error={spawn.error} title="No instance was started" />}
            <Select
              label="Host"
              description="Empty: the connected host with the fewest instances"
              data={agents.map(({ host }) => host)}
              value={fields.host}
              onChange={(host) => put({ host })}
              clearable
            />
            <NumberInput
              label="How many"
              min={1}
              max={200}
              allowDecimal={false}
              value={fields.count}
              onChange={(count) => put({ count })}
            />
            <NumberInput
              label="Slots of each"
              description="Tasks that each runs at a time; empty: from the host's CPUs"
              min={1}
              max={1_000}
              allowDecimal={false}
              value={fields.slots}
              onChange={(slots) => put({ slots })}
            />
            <MultiSelect
              label="Workloads"
              description="Empty: every workload"
              data={(workloads.data?.workloads ?? []).map(({ slug }) => slug)}
              value={fields.workloads}
              onChange={(chosen) => put({ workloads: chosen })}
              searchable
              clearable
            />
            <TextInput
              label="Name"
              description="For a single instance; empty: a new name"
              value={fields.instance_id}
              disabled={Number(fields.count) > 1}
              onChange={(event) => put({ instance_id: event.currentTarget.value })}
            />
            <Button type="submit" loading={spawn.isPending}>
              Start
            </Button>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
