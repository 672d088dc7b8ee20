import { Alert, Text } from "@mantine/core";

/** Why a plugin cannot be used, in full; nothing where it can. */
export function PluginErrors({ errors }: { errors: readonly string[] }) {
  if (errors.length === 0) return null;
  return (
    <Alert color="red" title="It cannot be used" role="alert">
      {errors.map((text) => (
        <Text key={text} size="sm" className="wrap">
          {text}
        </Text>
      ))}
    </Alert>
  );
}
