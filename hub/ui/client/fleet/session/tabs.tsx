import { ActionIcon, Tooltip, UnstyledButton } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { Session, Tab } from "#shared/protocol/schema/session.ts";
import { useChange } from "../../lib/query.ts";
import { act } from "./act.ts";

interface TabChange {
  op: "new" | "close" | "select";
  index?: number;
}

/**
 * The session's tabs as a strip. Listing them is an action and counts as use, so that it is done when something on them
 * changes and not all the time.
 */
export function Tabs({ session }: { session: Session }) {
  const { session_id, tabs, url } = session;
  const { data: list = [] } = useQuery<Tab[]>({
    queryKey: ["tabs", session_id, tabs, url],
    queryFn: () => act(session, "tabs", {}),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    placeholderData: (before) => before,
  });
  const change = useChange((input: TabChange) => act(session, "tab", input), {
    failed: "The tabs were not changed",
  });
  return (
    <nav className="session-tabs" aria-label="Tabs">
      <ul>
        {list.map((tab) => (
          <li key={tab.index} className="session-tab" data-active={tab.active || undefined}>
            <UnstyledButton
              className="session-tab-name"
              aria-current={tab.active || undefined}
              title={`${tab.title}\n${tab.url}`}
              onClick={() => change.mutate({ op: "select", index: tab.index })}
            >
              {tab.title || tab.url || "Without a title"}
            </UnstyledButton>
            <ActionIcon
              size="xs"
              variant="subtle"
              color="gray"
              aria-label={`Close tab ${tab.index + 1}`}
              onClick={() => change.mutate({ op: "close", index: tab.index })}
            >
              <IconX size={14} />
            </ActionIcon>
          </li>
        ))}
      </ul>
      <Tooltip label="New tab">
        <ActionIcon
          size="sm"
          variant="subtle"
          color="gray"
          aria-label="New tab"
          loading={change.isPending && change.variables.op === "new"}
          onClick={() => change.mutate({ op: "new" })}
        >
          <IconPlus size={16} />
        </ActionIcon>
      </Tooltip>
    </nav>
  );
}
