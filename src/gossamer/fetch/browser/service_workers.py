"""Block service workers: a tab serves one session and one visit, and a worker would outlive both.

Pages see a browser whose user has blocked them: ``register()`` rejects. ``ready``, which would never
settle, gives a registration that does nothing, so that a page that waits for it continues.
"""

from __future__ import annotations

import json

from gossamer.fetch.browser.limits import BrowserKind

_REASONS = {
    "chromium": (
        "NotSupportedError",
        "Failed to register a ServiceWorker for scope ('{scope}') with script ('{script}'): "
        "The user denied permission to use Service Worker.",
    ),
    "firefox": ("SecurityError", "The operation is insecure."),
}
"""The name and the message of the error, as the browsers write them."""


def blocking_script(kind: BrowserKind) -> str:
    """Return the script that runs in each document before the document's own."""
    return f"({_BLOCK})(...{json.dumps(_REASONS[kind])})"


_BLOCK = """(name, reason) => {
    const container = self.ServiceWorkerContainer;
    if (!container) return;
    // Proxies, since a page may read the source of a function.
    const replace = (property, slot, apply) => {
        const found = Object.getOwnPropertyDescriptor(container.prototype, property);
        found[slot] = new Proxy(found[slot], {apply});
        Object.defineProperty(container.prototype, property, found);
    };
    const answers = {
        getSubscription: () => null, permissionState: () => "denied", unregister: () => true,
        getNotifications: () => [], getTags: () => [], getAll: () => [], getIds: () => [],
        subscribe: () => Promise.reject(
            new DOMException("Registration failed - permission denied", "NotAllowedError")),
        getState: () => ({enabled: false, headerValue: "true"}),
    };
    const managers = {
        pushManager: "PushManager", sync: "SyncManager", periodicSync: "PeriodicSyncManager",
        navigationPreload: "NavigationPreloadManager", index: "ContentIndex",
        backgroundFetch: "BackgroundFetchManager",
    };
    const imitate = (kind, own) => {
        const made = new EventTarget();
        for (const [key, field] of Object.entries(Object.getOwnPropertyDescriptors(kind.prototype))) {
            if (key === "constructor" || typeof key !== "string") continue;
            const plain = field.get ? null : async () => answers[key]?.();
            Object.defineProperty(made, key, {value: key in own ? own[key] : plain, writable: true});
        }
        return Object.setPrototypeOf(made, kind.prototype);
    };
    replace("register", "value", (native, on, given) => {
        let script, scope;
        try {
            script = given.length ? new URL(given[0], document.baseURI) : null;
            scope = new URL(given[1]?.scope ?? "./", given[1]?.scope == null ? script : document.baseURI);
        } catch {}
        // The browser itself refuses what could not be registered anywhere.
        const isOwn = script?.origin === self.origin;
        if (!(on instanceof container && isOwn && scope))
            return Reflect.apply(native, on, isOwn ? [] : given);
        const said = reason.replace("{scope}", scope.href).replace("{script}", script.href);
        return Promise.reject(new DOMException(said, name));
    });
    let ready;
    replace("ready", "get", (native, on) => {
        if (!(on instanceof container)) return Reflect.apply(native, on, []);
        const there = Object.entries(managers).filter(([, name]) => self[name]);
        return ready ??= Promise.resolve(imitate(ServiceWorkerRegistration, {
            ...Object.fromEntries(there.map(([key, name]) => [key, imitate(self[name], {})])),
            scope: new URL("/", document.baseURI).href,
            active: imitate(ServiceWorker, {state: "activated", scriptURL: "", postMessage: () => {}}),
        }));
    });
}"""
