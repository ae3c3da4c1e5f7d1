// Sends what Amap's npm server asks of Amap to PORT of this machine, and leaves all else alone:
// Node loads this into npx too, which has to reach its registry.
"use strict";

const http = require("node:http");
const https = require("node:https");

const AMAP = "restapi.amap.com";
const FAKE = { protocol: "http:", hostname: "127.0.0.1", port: PORT, };

function goesToAmap(target, options) {
  const at = typeof target === "string" ? new URL(target) : target;
  const host = options.hostname || options.host || at.hostname || at.host || "";
  return String(host).split(":")[0] === AMAP;
}

for (const name of ["request", "get"]) {
  const own = https[name];
  https[name] = function (target, ...rest) {
    const options = rest[0] !== null && typeof rest[0] === "object" ? rest[0] : {};
    if (!goesToAmap(target, options)) return own.call(https, target, ...rest);
    const at = typeof target === "string" ? new URL(target) : target;
    const path = options.path || at.path || `${at.pathname || "/"}${at.search || ""}`;
    const done = rest.find((value) => typeof value === "function");
    const { host, agent, ...kept } = at instanceof URL ? options : { ...at, ...options };
    return http[name]({ ...kept, ...FAKE, path, headers: kept.headers || {} }, done);
  };
}

const fetched = globalThis.fetch;
globalThis.fetch = function (target, options) {
  const url = typeof target === "string" || target instanceof URL ? new URL(target) : null;
  if (!url || url.hostname !== AMAP) return fetched(target, options);
  return fetched(`http://${FAKE.hostname}:${FAKE.port}${url.pathname}${url.search}`, options);
};
