import {
  ActionIcon,
  Box,
  Button,
  Group,
  Text,
  Title,
  Tooltip,
  UnstyledButton,
} from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { Session, Tab } from "#shared/protocol/schema/session.ts";
import { useChange } from "../../lib/query.ts";
import { Loadable } from "../../parts/states.tsx";
import { act } from "./act.ts";

interface TabChange {
  op: "new" | "close" | "select";
  index?: number;
}

/**
 * The session's tabs. Listing them is an action and counts as use, so that it is done when something on them changes and
 * not all the time.
 */
export function Tabs({ session }: { session: Session }) {
  const { session_id, tabs, url } = session;
  const query = useQuery<Tab[]>({
    queryKey: ["tabs", session_id, tabs, url],
    queryFn: () => act<"tabs", Tab[]>(session, "tabs", {}),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    placeholderData: (before) => before,
  });
  const change = useChange((input: TabChange) => act(session, "tab", input), {
    failed: "The tabs were not changed",
  });
  const isChanging = ({ op, index }: TabChange) =>
    change.isPending && change.variables.op === op && change.variables.index === index;
  return (
    <Box component="section" aria-label="Tabs">
      <Group justify="space-between" mb={4}>
        <Title order={2} size="h5">
          {tabs === 1 ? "1 tab" : `${tabs} tabs`}
        </Title>
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconPlus size={14} />}
          loading={isChanging({ op: "new" })}
          onClick={() => change.mutate({ op: "new" })}
        >
          New tab
        </Button>
      </Group>
      <Loadable query={query} lines={2}>
        {(list) => (
          <Box component="ul" className="session-tabs">
            {list.map((tab) => (
              <Box component="li" key={tab.index} data-active={tab.active || undefined}>
                <UnstyledButton
                  className="session-tab"
                  aria-current={tab.active || undefined}
                  onClick={() => change.mutate({ op: "select", index: tab.index })}
                >
                  <Text size="sm" truncate fw={tab.active ? 600 : undefined} title={tab.title}>
                    {tab.title || "Without a title"}
                  </Text>
                  <Text size="xs" c="dimmed" truncate title={tab.url}>
                    {tab.url}
                  </Text>
                </UnstyledButton>
                <Tooltip label="Close this tab">
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={`Close tab ${tab.index + 1}`}
                    loading={isChanging({ op: "close", index: tab.index })}
                    onClick={() => change.mutate({ op: "close", index: tab.index })}
                  >
                    <IconX size={16} />
                  </ActionIcon>
                </Tooltip>
              </Box>
            ))}
          </Box>
        )}
      </Loadable>
    </Box>
  );
}
