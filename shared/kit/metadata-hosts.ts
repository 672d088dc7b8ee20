/**
 * Cloud metadata services, which no job may reach (rules/egress#never-reachable). Most answer on link-local addresses, which
 * are refused as a whole; these are named so that the error says what they are, and because some are elsewhere.
 */
export const METADATA_V4 = [
  "169.254.169.254",
  "169.254.170.2",
  "100.100.100.200",
  "192.0.0.192",
] as const;
export const METADATA_V6 = ["fd00:ec2::254", "fd20:ce::254"] as const;
export const METADATA_NAMES = [
  "metadata.google.internal",
  "metadata.goog",
  "instance-data",
] as const;
