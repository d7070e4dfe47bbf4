import type { ReactNode } from "react";
import { FileLink, OpenFile } from "./file-link.tsx";
import { targetOf } from "./links.ts";

/** A link of a text: out to the web, a file of the workspace, or only its words. */
export function anchor(address: string, words: ReactNode): ReactNode {
  const withScheme = /^www\./iu.test(address)
    ? `https://${address}`
    : /^[^\s/@:]+@[^\s/@]+$/u.test(address)
      ? `mailto:${address}`
      : address;
  const target = targetOf(withScheme);
  if (target.kind === "file")
    return (
      <span className="md-path" title={target.path}>
        <FileLink path={target.path}>
          <OpenFile value={undefined}>{words}</OpenFile>
        </FileLink>
      </span>
    );
  if (target.kind === "none") return <span title={address}>{words}</span>;
  return (
    <a href={target.address} target="_blank" rel="noreferrer noopener" title={target.host} className="md-link">
      <OpenFile value={undefined}>{words}</OpenFile>
    </a>
  );
}

/** Pictures of other hosts are not loaded: their address could carry words of the conversation away. */
export function picture(address: string, words: string): ReactNode {
  const target = targetOf(address);
  if (target.kind !== "web") return <span className="md-path">{words === "" ? address : words}</span>;
  return (
    <a href={target.address} target="_blank" rel="noreferrer noopener" className="md-picture">
      {words === "" ? target.host : `${words} · ${target.host}`}
    </a>
  );
}
