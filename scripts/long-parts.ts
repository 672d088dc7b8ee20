/** What was longer than the limits of check-sizes.ts when they were drawn. An entry goes once its part is within them. */

export const LONG_FILES: Readonly<Record<string, number>> = {};

export const LONG_FUNCTIONS: Readonly<Record<string, number>> = {};
