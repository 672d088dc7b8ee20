import {
  ActionIcon,
  Group,
  Image,
  Modal,
  NativeSelect,
  Paper,
  Text,
  UnstyledButton,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconArrowDown,
  IconArrowUp,
  IconCopy,
  IconGripVertical,
  IconPlayerPlay,
  IconTrash,
} from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { Issue } from "#shared/client/errors.ts";
import { durationText } from "../../lib/units.ts";
import { Status } from "../../parts/text.tsx";
import { messageAt, type RawAction, type Step, withKind } from "./draft.ts";
import { KIND_NAMES, KINDS, type Kind } from "./recipe-fields.ts";
import { StepFields } from "./step-fields.tsx";
import type { StepRun } from "./use-dry-run.ts";

export interface StepCardProps {
  step: Step;
  index: number;
  count: number;
  issues: readonly Issue[];
  run: StepRun | null;
  onChange: (action: RawAction) => void;
  onMove: (to: number) => void;
  onCopy: () => void;
  onRemove: () => void;
  /** Runs this step alone; null while there is no session or it is busy. */
  onRun: (() => void) | null;
  /** The card is being dragged over. */
  over: boolean;
  onDragStart: () => void;
  onDragOver: () => void;
  onDrop: () => void;
}

/** One step: what it does, what came of it, and its place among the others. */
export function StepCard(props: StepCardProps) {
  const { step, index, count, issues, run, onChange, onMove } = props;
  const { action } = step;
  const name = `Step ${index + 1}`;
  const known = action.kind in KINDS;
  const wrong = messageAt(issues) ?? messageAt(issues, "kind");
  return (
    <Paper
      withBorder
      component="li"
      className="step-card"
      aria-label={name}
      data-over={props.over || undefined}
      data-state={run?.state}
      onDragOver={(event) => {
        event.preventDefault();
        props.onDragOver();
      }}
      onDrop={(event) => {
        event.preventDefault();
        props.onDrop();
      }}
      onKeyDown={(event) => {
        if (!event.altKey || !/^Arrow(Up|Down)$/.test(event.key)) return;
        event.preventDefault();
        onMove(event.key === "ArrowUp" ? index - 1 : index + 1);
      }}
    >
      <Group gap="xs" wrap="wrap" justify="space-between">
        <Group gap={6} wrap="nowrap" miw={0}>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: for the mouse alone; buttons and Alt with arrows do the same */}
          <span
            className="step-grip"
            draggable
            title="Drag to reorder"
            data-grip={index}
            onDragStart={(event) => {
              event.dataTransfer.effectAllowed = "move";
              event.dataTransfer.setData("text/plain", name);
              props.onDragStart();
            }}
          >
            <IconGripVertical size={16} aria-hidden />
          </span>
          <Text size="sm" fw={600} miw={20} ta="end">
            {index + 1}
          </Text>
          <NativeSelect
            size="xs"
            aria-label={`${name}: kind`}
            value={action.kind}
            onChange={(event) => onChange(withKind(action, event.currentTarget.value as Kind))}
            data={[
              ...KIND_NAMES.map((kind) => ({ value: kind, label: KINDS[kind].title })),
              ...(known ? [] : [{ value: action.kind, label: action.kind }]),
            ]}
          />
          {run && <Outcome run={run} name={name} />}
        </Group>
        <Group gap={2} wrap="nowrap">
          <Tool label={`Run step ${index + 1}`} onClick={props.onRun}>
            <IconPlayerPlay size={16} />
          </Tool>
          <Tool
            label={`Move step ${index + 1} up`}
            onClick={index > 0 ? () => onMove(index - 1) : null}
          >
            <IconArrowUp size={16} />
          </Tool>
          <Tool
            label={`Move step ${index + 1} down`}
            onClick={index < count - 1 ? () => onMove(index + 1) : null}
          >
            <IconArrowDown size={16} />
          </Tool>
          <Tool label={`Copy step ${index + 1}`} onClick={props.onCopy}>
            <IconCopy size={16} />
          </Tool>
          <Tool label={`Remove step ${index + 1}`} onClick={props.onRemove}>
            <IconTrash size={16} />
          </Tool>
        </Group>
      </Group>
      {known ? (
        <StepFields action={action} name={name} issues={issues} onChange={onChange} />
      ) : (
        <Text size="sm" className="wrap">
          There is no such kind of step. Choose one, or fix it in the JSON.
        </Text>
      )}
      {wrong && (
        <Text size="sm" c="red" role="alert" className="wrap">
          {wrong}
        </Text>
      )}
      {run?.error && (
        <Text size="sm" c="red" role="alert" className="wrap">
          {run.error}
        </Text>
      )}
    </Paper>
  );
}

function Tool({
  label,
  onClick,
  children,
}: {
  label: string;
  onClick: (() => void) | null;
  children: ReactNode;
}) {
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={label}
      title={label}
      disabled={onClick === null}
      onClick={onClick ?? undefined}
    >
      {children}
    </ActionIcon>
  );
}

function Outcome({ run, name }: { run: StepRun; name: string }) {
  const [opened, { open, close }] = useDisclosure(false);
  const alt = `The page after ${name.toLowerCase()}`;
  return (
    <>
      <Status value={run.state} />
      {run.ms !== null && (
        <Text size="xs" c="dimmed">
          {durationText(run.ms)}
        </Text>
      )}
      {run.shot && (
        <>
          <UnstyledButton aria-label={`${alt}, larger`} onClick={open}>
            <Image src={run.shot} alt={alt} className="step-shot" />
          </UnstyledButton>
          <Modal opened={opened} onClose={close} title={alt} size="90%">
            <Image src={run.shot} alt={alt} fit="contain" />
          </Modal>
        </>
      )}
    </>
  );
}
