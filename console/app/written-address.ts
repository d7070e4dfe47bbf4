import { useBrowserLocation, useSearch } from "wouter/use-browser-location";

// wouter decodes a path and a query before it takes them apart; an escape and a % of a name are the same after that. What is
// escaped once more before comes out as it is written in the address.
const escaped = (written: string): string => written.replaceAll("%", "%25");

/** The path of the page as its address has it, for wouter. */
export function useWrittenLocation(): ReturnType<typeof useBrowserLocation> {
  const [path, navigate] = useBrowserLocation();
  return [escaped(path), navigate];
}

/** The query of the page as its address has it, for wouter. */
export function useWrittenSearch(): string {
  return escaped(useSearch());
}
