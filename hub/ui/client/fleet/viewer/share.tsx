import {
  ActionIcon,
  Button,
  Group,
  Modal,
  SegmentedControl,
  Select,
  Stack,
  Text,
  TextInput,
  Tooltip,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconShare } from "@tabler/icons-react";
import { useState } from "react";
import type { SignedLink } from "#shared/protocol/schema/signed-link.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { asWritten, call } from "../../lib/http.ts";
import { momentText } from "../../lib/moments.ts";
import { useChange } from "../../lib/query.ts";
import { Copy } from "../../parts/copy.tsx";

const RULES = rulesOf("ViewerLink");
const USUAL = String(RULES.expires_in_s.default);
const MODES: Record<SignedLink["mode"], string> = { view: "View only", "take-over": "Take over" };
const TIMES = [
  { value: "600", label: "10 minutes" },
  { value: "3600", label: "an hour" },
  { value: "86400", label: "a day" },
  { value: "604800", label: "a week" },
];

/** Creates a signed link to a session's viewer, for people who have no token. */
export function ShareViewer({ sid }: { sid: string }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Tooltip label="Share">
        <ActionIcon variant="default" aria-label="Share the viewer by a link" onClick={open}>
          <IconShare size={16} />
        </ActionIcon>
      </Tooltip>
      <Modal opened={opened} onClose={close} title="Share this viewer" centered>
        <ShareForm sid={sid} />
      </Modal>
    </>
  );
}

function ShareForm({ sid }: { sid: string }) {
  const [mode, setMode] = useState(String(RULES.mode.default));
  const [expires, setExpires] = useState(USUAL);
  const making = useChange(
    () =>
      call("POST /links", {
        json: { kind: "viewer", id: sid, mode: asWritten(mode), expires_in_s: Number(expires) },
      }),
    { failed: "The link was not created" },
  );
  const { data: made, reset } = making;
  return (
    <Stack>
      <SegmentedControl
        aria-label="What the link lets people do"
        value={mode}
        onChange={(value) => {
          setMode(value);
          reset();
        }}
        data={Object.entries(MODES).map(([value, label]) => ({ value, label }))}
      />
      <Select
        label="Opens it for"
        allowDeselect={false}
        data={TIMES}
        value={expires}
        onChange={(value) => {
          setExpires(value ?? USUAL);
          reset();
        }}
      />
      {made ? (
        <>
          <TextInput
            label="Link"
            readOnly
            value={made.url}
            onFocus={(event) => event.currentTarget.select()}
            rightSection={<Copy text={made.url} label="Copy the link" />}
          />
          <Text size="sm" c="dimmed">
            Anyone who has it needs no login, until {momentText(made.expires_at).replace("T", " ")}.
          </Text>
        </>
      ) : (
        <Group justify="flex-end">
          <Button loading={making.isPending} onClick={() => making.mutate(undefined)}>
            Create a link
          </Button>
        </Group>
      )}
    </Stack>
  );
}
