import { z } from "zod";
import { isLinkOrMetadata } from "@millrace/engine/net/checked-agent";

/** Own and private networks are allowed: that is where people run their models. */
const refusedNames =
  /^(?:metadata|instance-data|metadata\.(?:google|goog)(?:\.internal)?|metadata\.google\.internal)\.?$/iu;

/**
 * The address of a model server. To set one is an operator's act, since keys go there; so private networks are allowed,
 * but no link-local address and no metadata service of a cloud. Without a slash at its end.
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
