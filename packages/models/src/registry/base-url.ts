import { z } from "zod";
import { isLinkOrMetadata } from "@millrace/engine/net/checked-agent";

/** Private networks are allowed: that is where people run their models. */
const refusedNames =
  /^(?:metadata|instance-data|metadata\.(?:google|goog)(?:\.internal)?|metadata\.google\.internal)\.?$/iu;

/**
 * A model server's address. Only operators set it, since keys are sent there; so private networks are allowed, but
 * neither link-local addresses nor cloud metadata services. Without a trailing slash.
 */
export const BaseUrl = z
  .url({ protocol: /^https?$/u, error: "expected an address that begins with http:// or https://" })
  .max(2000)
  .transform((text, context) => {
    const url = new URL(text);
    const host = url.hostname.replace(/^\[|\]$/gu, "");
    if (url.username !== "" || url.password !== "") {
      context.addIssue({ code: "custom", message: "expected an address without a name or password; keys go by name" });
    }
    if (url.search !== "" || url.hash !== "") {
      context.addIssue({ code: "custom", message: "expected an address without ? and #" });
    }
    if (isLinkOrMetadata(host) || refusedNames.test(host)) {
      context.addIssue({ code: "custom", message: "link-local addresses and metadata services are refused" });
    }
    return url.href.replace(/\/+$/u, "");
  });
