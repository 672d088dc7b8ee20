/** The script as it is run. */
export const prepareScript = (code: string): string => code;
