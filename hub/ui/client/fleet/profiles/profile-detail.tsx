import { Button, Group, Stack } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { bytesText, countText } from "../../lib/units.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { MoreMenu } from "../../parts/more-menu.tsx";
import { Ago } from "../../parts/text.tsx";

function useActs(name: string, onGone: () => void) {
  const params = { name };
  const makeDefault = useChange(() => call("POST /profiles/{name}/default", { params }), {
    done: `${name} is the default profile`,
    failed: "The default profile was not changed",
  });
  const clear = useChange(() => call("DELETE /profiles/default"), {
    done: "There is no longer a default profile",
    failed: "The default profile was not cleared",
  });
  const remove = useChange(() => call("DELETE /profiles/{name}", { params }), {
    done: `${name} was deleted`,
    failed: "The profile was not deleted",
    onDone: onGone,
  });
  return { makeDefault, clear, remove };
}

/** One stored profile: what is in it, whether jobs that name none get it, and its end. */
export function ProfileDetail({ profile, onGone }: { profile: Profile; onGone: () => void }) {
  const { name, is_default } = profile;
  const { makeDefault, clear, remove } = useActs(name, onGone);
  const text = is_default
    ? "It is the default profile: jobs that name none will start with an empty browser."
    : "Jobs that name it will be refused. Runs that have just received it can still use it for a few minutes.";
  return (
    <Stack gap="md">
      <FactList label="Profile">
        <Fact name="Default">{is_default ? "Yes, for jobs that name no profile" : "No"}</Fact>
        <Fact name="Size">{bytesText(profile.size)}</Fact>
        <Fact name="Files">{countText(profile.files)}</Fact>
        <Fact name="From">{profile.source_browser || "–"}</Fact>
        <Fact name="Stored">
          <Ago at={profile.updated_at} />
        </Fact>
        <Fact name="SHA-256" copy={profile.sha256}>
          <code>{profile.sha256.slice(0, 12)}</code>
        </Fact>
      </FactList>
      <Group gap="xs">
        <Button
          variant="default"
          loading={clear.isPending || makeDefault.isPending}
          onClick={() => (is_default ? clear : makeDefault).mutate(undefined)}
        >
          {is_default ? "Clear default" : "Make default"}
        </Button>
        <MoreMenu
          label={`More for ${name}`}
          loading={remove.isPending}
          actions={[
            {
              label: "Delete profile…",
              icon: <IconTrash size={16} />,
              danger: true,
              onClick: () => remove.mutate(undefined),
              ask: { question: `Delete ${name}?`, text, confirm: "Delete" },
            },
          ]}
        />
      </Group>
    </Stack>
  );
}
