import { Group, Select, SimpleGrid, Stack, Text, TextInput, Title } from "@mantine/core";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { AgentCard } from "./agent/agent-card.tsx";
import { Instances } from "./agent/instances.tsx";
import { SpawnButton } from "./agent/spawn-form.tsx";

function Inventory() {
  const [filters, set] = useFilters({ q: "", is: "" });
  const query = useGet("/api/v1/workers/elastic/inventory");
  const all = query.data?.instances ?? [];
  const word = filters.q.toLowerCase();
  const rows = all.filter(
    ({ instance_id, host, actual }) =>
      (filters.is === "" || actual === filters.is) &&
      `${instance_id} ${host}`.toLowerCase().includes(word),
  );
  const states = [...new Set(all.map(({ actual }) => actual))].sort();
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        Instances
      </Title>
      <Group gap="xs">
        <TextInput
          data-filter
          aria-label="Filter instances"
          placeholder="Name or host"
          value={filters.q}
          onChange={(event) => set({ q: event.currentTarget.value })}
          w={{ base: "100%", xs: 240 }}
        />
        <Select
          aria-label="State of instances"
          placeholder="Any state"
          data={states}
          value={filters.is || null}
          onChange={(is) => set({ is: is ?? "" })}
          clearable
          w={150}
        />
      </Group>
      <Loadable query={query}>
        {() =>
          rows.length > 0 ? (
            <Instances rows={rows} />
          ) : (
            <Text size="sm" c="dimmed">
              {all.length === 0
                ? "No worker is requested on any host. “Start workers” asks an agent for some."
                : "No instance matches."}
            </Text>
          )
        }
      </Loadable>
    </Stack>
  );
}

export function Page() {
  const query = useGet("/api/v1/agents");
  const agents = query.data?.agents ?? [];
  return (
    <>
      <PageHead
        title="Agents"
        note="An agent keeps as many workers running on its host as you ask for here. Only the administrator may start and stop them."
      >
        <SpawnButton agents={agents} />
      </PageHead>
      <Loadable query={query}>
        {() =>
          agents.length === 0 ? (
            <Empty
              title="No host has an agent yet"
              command={`flotilla worker --agent --control-url=${location.origin}`}
            >
              An agent runs no task itself: it starts and stops workers on its host. Start one
              there:
            </Empty>
          ) : (
            <Stack gap="lg">
              <Title order={2} size="h4">
                Hosts
              </Title>
              <SimpleGrid cols={{ base: 1, sm: 2, xl: 3 }}>
                {agents.map((agent) => (
                  <AgentCard key={agent.host} agent={agent} />
                ))}
              </SimpleGrid>
              <Inventory />
            </Stack>
          )
        }
      </Loadable>
    </>
  );
}
