export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Points at an object whose lifetime limits the validity of an issued token. */
        "io.k8s.api.authentication.v1.BoundObjectReference": {
            /** @description API version under which the bound object is served, for example v1. */
            apiVersion?: string;
            /** @description Kind of the bound object; Pod and Secret are accepted. */
            kind?: string;
            /** @description Name of the bound object, in the service account's namespace. */
            name?: string;
            /** @description Unique ID the bound object must have; omitted means the current object with that name. */
            uid?: string;
        };
        /** @description Asks the server as whom it knows the sender. It is answered at once and not kept. */
        "io.k8s.api.authentication.v1.SelfSubjectReview": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Not needed; the answer has only the time of creation. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description The answer. Written by the server. */
            status?: components["schemas"]["io.k8s.api.authentication.v1.SelfSubjectReviewStatus"];
        };
        /** @description The sender, as the server knows it. */
        "io.k8s.api.authentication.v1.SelfSubjectReviewStatus": {
            /** @description The user of the request, after impersonation. */
            userInfo?: components["schemas"]["io.k8s.api.authentication.v1.UserInfo"];
        };
        /** @description Asks the server to issue a time-limited token for a service account. */
        "io.k8s.api.authentication.v1.TokenRequest": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Object metadata of the request; the service account comes from the request path. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Audiences, lifetime and binding wanted for the new token. */
            spec: components["schemas"]["io.k8s.api.authentication.v1.TokenRequestSpec"];
            /** @description Result filled in by the server, holding the token itself. */
            status?: components["schemas"]["io.k8s.api.authentication.v1.TokenRequestStatus"];
        };
        /** @description Properties wanted for a service account token. */
        "io.k8s.api.authentication.v1.TokenRequestSpec": {
            /** @description Identifiers of the parties meant to accept the token. An empty list selects the API server's own audiences. */
            audiences: string[];
            /** @description Object the token is tied to; the token becomes invalid once that object is deleted. */
            boundObjectRef?: components["schemas"]["io.k8s.api.authentication.v1.BoundObjectReference"];
            /**
             * Format: int64
             * @description Wanted token lifetime in seconds; defaults to 3600, minimum 600. The issuer may grant a different lifetime.
             * @default 3600
             */
            expirationSeconds?: number;
        };
        /** @description Outcome of a token request. */
        "io.k8s.api.authentication.v1.TokenRequestStatus": {
            /** @description Moment after which the issued token is no longer accepted. */
            expirationTimestamp: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description The issued bearer token, to be treated as a secret. */
            token: string;
        };
        /** @description Somebody as authentication knows them. */
        "io.k8s.api.authentication.v1.UserInfo": {
            /** @description Further facts that the authenticator gave, each a list of texts. */
            extra?: {
                [key: string]: string[];
            };
            /** @description Groups that the user is in, including those that all known users are in. */
            groups?: string[];
            /** @description Tells apart users who had the same name at different times. */
            uid?: string;
            /** @description The name that rules about users speak of. */
            username?: string;
        };
        /** @description An action on a path that is no resource. */
        "io.k8s.api.authorization.v1.NonResourceAttributes": {
            /** @description Path of the URL, such as /healthz. */
            path?: string;
            /** @description HTTP method in lower case. */
            verb?: string;
        };
        /** @description Paths that are no resources, and what may be done with them. */
        "io.k8s.api.authorization.v1.NonResourceRule": {
            /** @description Paths; a * at the end stands for all that begins so. */
            nonResourceURLs?: string[];
            /** @description HTTP methods in lower case; * for all. */
            verbs: string[];
        };
        /** @description An action on objects of a resource. */
        "io.k8s.api.authorization.v1.ResourceAttributes": {
            /** @description API group of the resource; empty is the core group, * every group. */
            group?: string;
            /** @description The single object that is meant; empty for any. */
            name?: string;
            /** @description Where the objects are. Empty for cluster-wide objects, and for all namespaces together. */
            namespace?: string;
            /** @description Plural name in lower case, such as pods; * stands for all. */
            resource?: string;
            /** @description The part of an object that is meant, such as status or log. */
            subresource?: string;
            /** @description What is to be done, such as get, list or create; * stands for everything. */
            verb?: string;
            /** @description API version of the resource; decisions do not depend on it. */
            version?: string;
        };
        /** @description Resources, and what may be done with them. */
        "io.k8s.api.authorization.v1.ResourceRule": {
            /** @description API groups of the resources; "" is the core group, * every group. */
            apiGroups?: string[];
            /** @description Only objects with these names; empty means every object. */
            resourceNames?: string[];
            /** @description Plural names of resources, with a slash and the subresource where that is meant; * for all. */
            resources?: string[];
            /** @description What may be done: get, list, watch, create and so on; * for everything. */
            verbs: string[];
        };
        /** @description Asks whether the one who sends it may do something. It is answered at once and not kept. */
        "io.k8s.api.authorization.v1.SelfSubjectAccessReview": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Has to be empty. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description What the sender wants to do. */
            spec: components["schemas"]["io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec"];
            /** @description The answer. Written by the server. */
            status?: components["schemas"]["io.k8s.api.authorization.v1.SubjectAccessReviewStatus"];
        };
        /** @description An action, of which exactly one of the members speaks. */
        "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec": {
            /** @description The action when it is about another path. */
            nonResourceAttributes?: components["schemas"]["io.k8s.api.authorization.v1.NonResourceAttributes"];
            /** @description The action when it is about a resource. */
            resourceAttributes?: components["schemas"]["io.k8s.api.authorization.v1.ResourceAttributes"];
        };
        /** @description Asks for everything that the one who sends it may do in a namespace, for showing or hiding parts of a user interface. It is answered at once and not kept. */
        "io.k8s.api.authorization.v1.SelfSubjectRulesReview": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Not needed. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Which namespace the question is about. */
            spec: components["schemas"]["io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec"];
            /** @description The answer. Written by the server. */
            status?: components["schemas"]["io.k8s.api.authorization.v1.SubjectRulesReviewStatus"];
        };
        /** @description What is asked for. */
        "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec": {
            /** @description The namespace to list rights for; needed. */
            namespace?: string;
        };
        /** @description What the authorizers say. */
        "io.k8s.api.authorization.v1.SubjectAccessReviewStatus": {
            /** @description Whether the action is allowed. */
            allowed: boolean;
            /** @description True when an authorizer forbade the action, so that no other may allow it. */
            denied?: boolean;
            /** @description What went wrong while deciding; the decision may still be right. */
            evaluationError?: string;
            /** @description What an authorizer said about its decision. */
            reason?: string;
        };
        /** @description Rules that together say what is allowed. Their order means nothing, and they may repeat each other. */
        "io.k8s.api.authorization.v1.SubjectRulesReviewStatus": {
            /** @description Why the list is not complete, where something went wrong. */
            evaluationError?: string;
            /** @description Whether more may be allowed than is listed, because some authorizer cannot list what it allows. */
            incomplete: boolean;
            /** @description What may be done with other paths. */
            nonResourceRules: components["schemas"]["io.k8s.api.authorization.v1.NonResourceRule"][];
            /** @description What may be done with resources. */
            resourceRules: components["schemas"]["io.k8s.api.authorization.v1.ResourceRule"][];
        };
        /** @description Points at an existing AWS EBS disk to mount. The disk must sit in the same zone as the node and attaches to one machine at a time. */
        "io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource": {
            /** @description Filesystem on the disk, such as ext4 or xfs; the node's OS must support it. Treated as ext4 when empty. */
            fsType?: string;
            /**
             * Format: int32
             * @description Number of the disk partition to mount, for example 1 for the first one. Zero or unset mounts the whole device.
             */
            partition?: number;
            /** @description When true, containers cannot write to the mounted disk. Defaults to false. */
            readOnly?: boolean;
            /** @description Identifier of the EBS volume in AWS. The volume has to exist before the pod starts. */
            volumeID: string;
        };
        /** @description Groups the scheduling rules that attract a pod to, or repel it from, particular nodes and other pods. */
        "io.k8s.api.core.v1.Affinity": {
            /** @description Rules that select nodes by their labels or fields. */
            nodeAffinity?: components["schemas"]["io.k8s.api.core.v1.NodeAffinity"];
            /** @description Rules that place this pod in the same topology domain, such as node or zone, as other matching pods. */
            podAffinity?: components["schemas"]["io.k8s.api.core.v1.PodAffinity"];
            /** @description Rules that keep this pod out of topology domains where other matching pods already run. */
            podAntiAffinity?: components["schemas"]["io.k8s.api.core.v1.PodAntiAffinity"];
        };
        /** @description Mounts an Azure data disk, either managed or blob backed, into a pod. */
        "io.k8s.api.core.v1.AzureDiskVolumeSource": {
            /**
             * @description Host caching used for the disk: None, ReadOnly or ReadWrite. Defaults to ReadWrite.
             * @default ReadWrite
             * @enum {string}
             */
            cachingMode?: "None" | "ReadOnly" | "ReadWrite";
            /** @description Name under which the data disk is known in Azure blob storage or as a managed disk. */
            diskName: string;
            /** @description Full URI of the disk: a blob URL for unmanaged disks, or the resource ID of a managed disk. */
            diskURI: string;
            /**
             * @description Filesystem to mount, for example ext4, xfs or ntfs. Defaults to ext4.
             * @default ext4
             */
            fsType?: string;
            /**
             * @description How the disk is stored: Shared (several blobs per storage account), Dedicated (one per account) or Managed. Defaults to Shared.
             * @default Shared
             * @enum {string}
             */
            kind?: "Dedicated" | "Managed" | "Shared";
            /**
             * @description When true, the disk is mounted without write access. Defaults to false.
             * @default false
             */
            readOnly?: boolean;
        };
        /** @description Mounts an Azure Files share directly into a pod over SMB. */
        "io.k8s.api.core.v1.AzureFileVolumeSource": {
            /** @description When true, the share is mounted without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description Secret in the pod's namespace that holds the Azure storage account name and key. */
            secretName: string;
            /** @description Name of the Azure Files share that should be mounted. */
            shareName: string;
        };
        /** @description Requests an inline ephemeral volume from a CSI driver, created with the pod and removed along with it. */
        "io.k8s.api.core.v1.CSIVolumeSource": {
            /** @description Registered name of the CSI driver that provides the volume; it must support ephemeral inline volumes. */
            driver: string;
            /** @description Filesystem the driver should mount, such as ext4 or xfs. If empty, the driver picks its own default. */
            fsType?: string;
            /** @description Secret in the pod's namespace that the driver receives when mounting or unmounting the volume. */
            nodePublishSecretRef?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
            /** @description Asks the driver to publish the volume without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description Driver-specific parameters for creating the volume; see the driver's manual for accepted keys. */
            volumeAttributes?: {
                [key: string]: string;
            };
        };
        /** @description Adjusts the set of Linux capabilities a container receives from the runtime. */
        "io.k8s.api.core.v1.Capabilities": {
            /** @description Capabilities granted beyond the runtime's default set, written without the CAP_ prefix, for example NET_ADMIN. */
            add?: string[];
            /** @description Capabilities taken away from the runtime's default set; ALL removes every one of them. */
            drop?: string[];
        };
        /** @description Mounts a Ceph filesystem directly into a pod. */
        "io.k8s.api.core.v1.CephFSVolumeSource": {
            /** @description Addresses of the Ceph monitors to contact. At least one is required. */
            monitors: string[];
            /** @description Directory within the Ceph filesystem to mount as the volume root. Defaults to /. */
            path?: string;
            /** @description When true, the filesystem is mounted without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description Path on the node to the keyring file for the Ceph user. Defaults to /etc/ceph/user.secret. */
            secretFile?: string;
            /** @description Secret in the pod's namespace with the Ceph user's key; when given it is used in place of secretFile. */
            secretRef?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
            /** @description Ceph user (RADOS identity) to authenticate as. Defaults to admin. */
            user?: string;
        };
        /** @description Mounts an existing OpenStack Cinder block device into a pod. */
        "io.k8s.api.core.v1.CinderVolumeSource": {
            /** @description Filesystem on the device, such as ext4 or xfs; the node's OS must support it. Treated as ext4 when empty. */
            fsType?: string;
            /** @description When true, the device is mounted without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description Secret in the pod's namespace with the parameters needed to connect to OpenStack. */
            secretRef?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
            /** @description Identifier of the existing Cinder volume. */
            volumeID: string;
        };
        /** @description Tunes session affinity that is based on the client's source address. */
        "io.k8s.api.core.v1.ClientIPConfig": {
            /**
             * Format: int32
             * @description How long, in seconds, a client stays pinned to the same backend. Accepts 1 to 86400 and defaults to 10800 (three hours).
             * @default 10800
             */
            timeoutSeconds?: number;
        };
        /** @description Imports every entry of a config map as environment variables of a container. */
        "io.k8s.api.core.v1.ConfigMapEnvSource": {
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
            /** @description When true, the container starts even if the config map is missing. Absent means it must exist. */
            optional?: boolean;
        };
        /** @description Picks a single key from a config map in the pod's namespace. */
        "io.k8s.api.core.v1.ConfigMapKeySelector": {
            /** @description Entry of the config map whose value is used. */
            key: string;
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
            /** @description When true, a missing config map or key is tolerated. Absent means both must exist. */
            optional?: boolean;
        };
        /** @description Places config map entries as files inside a projected volume. */
        "io.k8s.api.core.v1.ConfigMapProjection": {
            /** @description Entries to project and the paths to write them to. If empty, every key becomes a file of the same name. */
            items?: components["schemas"]["io.k8s.api.core.v1.KeyToPath"][];
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
            /** @description When true, a missing config map or key does not block the volume. Absent means they must exist. */
            optional?: boolean;
        };
        /** @description Fills a volume with files made from the entries of a config map. */
        "io.k8s.api.core.v1.ConfigMapVolumeSource": {
            /**
             * Format: int32
             * @description Permission bits for created files without their own mode, octal in YAML or decimal in JSON. Ranges from 0 to 0777; default 0644.
             * @default 420
             */
            defaultMode?: number;
            /** @description Entries to expose and the paths to write them to. If empty, every key becomes a file of the same name. */
            items?: components["schemas"]["io.k8s.api.core.v1.KeyToPath"][];
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
            /** @description When true, a missing config map or key does not block the volume. Absent means they must exist. */
            optional?: boolean;
        };
        /** @description Describes one container of a pod: what image it runs, how it starts, and which resources, volumes and probes it uses. */
        "io.k8s.api.core.v1.Container": {
            /** @description Arguments for the entrypoint, replacing the image's default command. $(VAR) references are expanded; write $$(VAR) for a literal. */
            args?: string[];
            /** @description Program and leading arguments, replacing the image's entrypoint. No shell is involved; $(VAR) references are expanded from the environment. */
            command?: string[];
            /** @description Individual environment variables for the container. These override same-named variables from envFrom. */
            env?: components["schemas"]["io.k8s.api.core.v1.EnvVar"][];
            /** @description Config maps and secrets whose entries all become environment variables. Later sources win over earlier ones, and env wins over both. */
            envFrom?: components["schemas"]["io.k8s.api.core.v1.EnvFromSource"][];
            /** @description Image reference to run, including registry and tag or digest. May be left out in pod templates where a controller fills it in. */
            image?: string;
            /**
             * @description When to pull the image: Always, IfNotPresent or Never. Defaults to Always for a latest or missing tag, otherwise IfNotPresent.
             * @enum {string}
             */
            imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
            /** @description Hooks to run right after the container starts and just before it is stopped. */
            lifecycle?: components["schemas"]["io.k8s.api.core.v1.Lifecycle"];
            /** @description Periodic check that the container still works; repeated failure gets it restarted. Without one it is assumed alive. */
            livenessProbe?: components["schemas"]["io.k8s.api.core.v1.Probe"];
            /** @description DNS label that uniquely identifies the container within its pod. It cannot be changed later. */
            name: string;
            /** @description Ports the container listens on. Mostly informational: leaving one out does not stop it from being reachable. */
            ports?: components["schemas"]["io.k8s.api.core.v1.ContainerPort"][];
            /** @description Periodic check that the container can serve traffic; while failing, the pod is taken out of service endpoints. */
            readinessProbe?: components["schemas"]["io.k8s.api.core.v1.Probe"];
            /** @description CPU, memory and other compute amounts the container requests and is limited to. */
            resources?: components["schemas"]["io.k8s.api.core.v1.ResourceRequirements"];
            /** @description Privilege and identity settings for this container; they take precedence over the pod-level equivalents. */
            securityContext?: components["schemas"]["io.k8s.api.core.v1.SecurityContext"];
            /** @description Check that startup has finished. Other probes wait until it succeeds, and exhausting its attempts restarts the container. */
            startupProbe?: components["schemas"]["io.k8s.api.core.v1.Probe"];
            /** @description Keep a standard input buffer open for the container. When false, reads from stdin hit end of file at once. Defaults to false. */
            stdin?: boolean;
            /** @description Close stdin after the first attached client disconnects, until the container restarts. Only meaningful with stdin. Defaults to false. */
            stdinOnce?: boolean;
            /**
             * @description File in the container from which its final status message is read at exit. Defaults to /dev/termination-log.
             * @default /dev/termination-log
             */
            terminationMessagePath?: string;
            /**
             * @description Source of the exit message: File reads the message file only; FallbackToLogsOnError uses the log tail if that file is empty after an error. Defaults to File.
             * @default File
             * @enum {string}
             */
            terminationMessagePolicy?: "File" | "FallbackToLogsOnError";
            /** @description Allocate a terminal for the container; stdin must be enabled too. Defaults to false. */
            tty?: boolean;
            /** @description Raw block volumes to expose inside the container as device nodes. */
            volumeDevices?: components["schemas"]["io.k8s.api.core.v1.VolumeDevice"][];
            /** @description Pod volumes to mount into the container's filesystem, each at its own path. */
            volumeMounts?: components["schemas"]["io.k8s.api.core.v1.VolumeMount"][];
            /** @description Directory in which the process starts. If empty, the image's or runtime's default is used. */
            workingDir?: string;
        };
        /** @description A network port exposed by a container in a pod. */
        "io.k8s.api.core.v1.ContainerPort": {
            /**
             * Format: int32
             * @description Port number on the pod's address that the container listens on, from 1 to 65535.
             */
            containerPort: number;
            /** @description Node address to which hostPort is bound. If empty, the port is opened on all node addresses. */
            hostIP?: string;
            /**
             * Format: int32
             * @description Port on the node that forwards to the container, 1 to 65535. With host networking it must equal containerPort.
             */
            hostPort?: number;
            /** @description Service-style name, unique in the pod, that lets services and probes refer to the port symbolically. */
            name?: string;
            /**
             * @description Transport used by the port: TCP, UDP or SCTP. Defaults to TCP.
             * @default TCP
             * @enum {string}
             */
            protocol?: "SCTP" | "TCP" | "UDP";
        };
        /** @description Current state of a container; at most one member is set, and none means it is waiting. */
        "io.k8s.api.core.v1.ContainerState": {
            /** @description Set while the container's process is executing. */
            running?: components["schemas"]["io.k8s.api.core.v1.ContainerStateRunning"];
            /** @description Set after the container has exited, with details on how it ended. */
            terminated?: components["schemas"]["io.k8s.api.core.v1.ContainerStateTerminated"];
            /** @description Set while the container has not started yet, for example during an image pull or restart back-off. */
            waiting?: components["schemas"]["io.k8s.api.core.v1.ContainerStateWaiting"];
        };
        /** @description Details about a container that is executing. */
        "io.k8s.api.core.v1.ContainerStateRunning": {
            /** @description Time of the most recent start or restart of the container. */
            startedAt?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
        };
        /** @description Details about how and when a container stopped. */
        "io.k8s.api.core.v1.ContainerStateTerminated": {
            /** @description Runtime identifier of the finished container, written as type://id. */
            containerID?: string;
            /**
             * Format: int32
             * @description Status code with which the container's process ended; zero means success.
             */
            exitCode: number;
            /** @description Time at which the container's process ended. */
            finishedAt?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description Human-readable termination text, usually taken from the container's message file or log tail. */
            message?: string;
            /** @description Short machine-readable cause of the termination, such as Completed, Error or OOMKilled. */
            reason?: string;
            /**
             * Format: int32
             * @description Number of the signal that ended the process, if one did.
             */
            signal?: number;
            /** @description Time at which this finished run of the container began. */
            startedAt?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
        };
        /** @description Details about a container that has yet to start. */
        "io.k8s.api.core.v1.ContainerStateWaiting": {
            /** @description Human-readable explanation of what the container is waiting for. */
            message?: string;
            /** @description Short machine-readable cause of the delay, such as ContainerCreating or ImagePullBackOff. */
            reason?: string;
        };
        /** @description Observed state of one container in a pod, as reported by the node. */
        "io.k8s.api.core.v1.ContainerStatus": {
            /** @description Runtime identifier of the current container, written as type://id. */
            containerID?: string;
            /** @description Image reference the runtime reports for the container; may differ from the one in the spec. */
            image: string;
            /** @description Identifier of the exact image in use, usually including its digest. */
            imageID: string;
            /** @description How the previous run of the container ended; empty if it has never been restarted. */
            lastState?: components["schemas"]["io.k8s.api.core.v1.ContainerState"];
            /** @description Name of the pod container this status belongs to. */
            name: string;
            /** @description Whether the container currently passes its readiness check and can take traffic. */
            ready: boolean;
            /**
             * Format: int32
             * @description How many times the container has been restarted. Derived from retained dead containers, so cleanup can limit it.
             */
            restartCount: number;
            /** @description True once the container is running and its startup probe, if any, has succeeded. Reset on restart; absent counts as false. */
            started?: boolean;
            /** @description What the container is doing now: waiting, running or terminated. */
            state?: components["schemas"]["io.k8s.api.core.v1.ContainerState"];
        };
        /** @description Exposes pod fields and container resource figures as files inside a projected volume. */
        "io.k8s.api.core.v1.DownwardAPIProjection": {
            /** @description Files to create and the pod information each should contain. */
            items?: components["schemas"]["io.k8s.api.core.v1.DownwardAPIVolumeFile"][];
        };
        /** @description One file whose content comes from the pod itself. Exactly one of fieldRef and resourceFieldRef must be set. */
        "io.k8s.api.core.v1.DownwardAPIVolumeFile": {
            /** @description Pod field to write into the file: name, namespace, uid, labels or annotations. */
            fieldRef?: components["schemas"]["io.k8s.api.core.v1.ObjectFieldSelector"];
            /**
             * Format: int32
             * @description Permission bits for this file, from 0 to 0777. If absent, the volume's defaultMode applies.
             */
            mode?: number;
            /** @description Location of the file relative to the volume root. It may not be absolute or contain a .. element. */
            path: string;
            /** @description Container resource request or limit to write, for CPU, memory, ephemeral storage or huge pages. */
            resourceFieldRef?: components["schemas"]["io.k8s.api.core.v1.ResourceFieldSelector"];
        };
        /** @description Fills a volume with files that expose information about the pod to its containers. */
        "io.k8s.api.core.v1.DownwardAPIVolumeSource": {
            /**
             * Format: int32
             * @description Permission bits for created files without their own mode, octal in YAML or decimal in JSON. Ranges from 0 to 0777; default 0644.
             * @default 420
             */
            defaultMode?: number;
            /** @description Files to create and the pod information each should contain. */
            items?: components["schemas"]["io.k8s.api.core.v1.DownwardAPIVolumeFile"][];
        };
        /** @description Scratch directory created empty for a pod and deleted when the pod leaves the node. */
        "io.k8s.api.core.v1.EmptyDirVolumeSource": {
            /** @description Backing storage: empty for the node's default disk, Memory for tmpfs, or HugePages, optionally with a page size suffix. */
            medium?: string;
            /** @description Upper bound on the space used, in bytes. Absent means no explicit limit; memory-backed volumes stay bounded by pod memory limits. */
            sizeLimit?: components["schemas"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
        };
        /** @description Bulk source of environment variables. Exactly one of configMapRef and secretRef must be set. */
        "io.k8s.api.core.v1.EnvFromSource": {
            /** @description Config map whose entries are imported as variables. */
            configMapRef?: components["schemas"]["io.k8s.api.core.v1.ConfigMapEnvSource"];
            /** @description Text put in front of every imported key to form the variable name. Must be a valid identifier start. */
            prefix?: string;
            /** @description Secret whose entries are imported as variables. */
            secretRef?: components["schemas"]["io.k8s.api.core.v1.SecretEnvSource"];
        };
        /** @description A single environment variable given to a container. */
        "io.k8s.api.core.v1.EnvVar": {
            /** @description Variable name as seen by the process; letters, digits, underscore, dash and dot are accepted, not starting with a digit. */
            name: string;
            /** @description Literal value, with $(VAR) references to earlier variables expanded and $$ as the escape. Defaults to an empty string. */
            value?: string;
            /** @description Source from which the value is read when the container starts. Cannot be combined with a non-empty value. */
            valueFrom?: components["schemas"]["io.k8s.api.core.v1.EnvVarSource"];
        };
        /** @description Where an environment variable gets its value. Exactly one member must be set. */
        "io.k8s.api.core.v1.EnvVarSource": {
            /** @description Takes the value from one key of a config map in the pod's namespace. */
            configMapKeyRef?: components["schemas"]["io.k8s.api.core.v1.ConfigMapKeySelector"];
            /** @description Takes the value from a pod field, such as metadata.name, spec.nodeName or status.podIP. */
            fieldRef?: components["schemas"]["io.k8s.api.core.v1.ObjectFieldSelector"];
            /** @description Takes the value from a container's request or limit for CPU, memory, ephemeral storage or huge pages. */
            resourceFieldRef?: components["schemas"]["io.k8s.api.core.v1.ResourceFieldSelector"];
            /** @description Takes the value from one key of a secret in the pod's namespace. */
            secretKeyRef?: components["schemas"]["io.k8s.api.core.v1.SecretKeySelector"];
        };
        /** @description A temporary container added to a running pod for debugging. It gets no resource guarantees and is never restarted. */
        "io.k8s.api.core.v1.EphemeralContainer": {
            /** @description Arguments for the entrypoint, replacing the image's default command. $(VAR) references are expanded; write $$(VAR) for a literal. */
            args?: string[];
            /** @description Program and leading arguments, replacing the image's entrypoint. No shell is involved; $(VAR) references are expanded from the environment. */
            command?: string[];
            /** @description Individual environment variables for the container. These override same-named variables from envFrom. */
            env?: components["schemas"]["io.k8s.api.core.v1.EnvVar"][];
            /** @description Config maps and secrets whose entries all become environment variables. Later sources win over earlier ones, and env wins over both. */
            envFrom?: components["schemas"]["io.k8s.api.core.v1.EnvFromSource"][];
            /** @description Image reference to run, including registry and tag or digest. */
            image?: string;
            /**
             * @description When to pull the image: Always, IfNotPresent or Never. Defaults to Always for a latest or missing tag, otherwise IfNotPresent.
             * @enum {string}
             */
            imagePullPolicy?: "Always" | "IfNotPresent" | "Never";
            /** @description Must be left unset; ephemeral containers do not run lifecycle hooks. */
            lifecycle?: components["schemas"]["io.k8s.api.core.v1.Lifecycle"];
            /** @description Must be left unset, since ephemeral containers are not probed for liveness. */
            livenessProbe?: components["schemas"]["io.k8s.api.core.v1.Probe"];
            /** @description DNS label for the ephemeral container, unique among all containers of the pod. */
            name: string;
            /** @description Must be left empty, because ephemeral containers may not declare ports. */
            ports?: components["schemas"]["io.k8s.api.core.v1.ContainerPort"][];
            /** @description Must be left unset, since ephemeral containers do not affect pod readiness. */
            readinessProbe?: components["schemas"]["io.k8s.api.core.v1.Probe"];
            /** @description Must be left empty; ephemeral containers draw on whatever capacity the pod already has. */
            resources?: components["schemas"]["io.k8s.api.core.v1.ResourceRequirements"];
            /** @description Privilege and identity settings for the ephemeral container; they take precedence over the pod-level equivalents. */
            securityContext?: components["schemas"]["io.k8s.api.core.v1.SecurityContext"];
            /** @description Must be left unset, since ephemeral containers are not probed during startup. */
            startupProbe?: components["schemas"]["io.k8s.api.core.v1.Probe"];
            /** @description Keep a standard input buffer open, which interactive debugging needs. When false, reads hit end of file at once. Defaults to false. */
            stdin?: boolean;
            /** @description Close stdin after the first attached client disconnects. Only meaningful with stdin. Defaults to false. */
            stdinOnce?: boolean;
            /** @description Pod container whose process namespaces this one joins, if the runtime supports it. Empty means the pod's configured namespaces are used. */
            targetContainerName?: string;
            /**
             * @description File in the container from which its final status message is read at exit. Defaults to /dev/termination-log.
             * @default /dev/termination-log
             */
            terminationMessagePath?: string;
            /**
             * @description Source of the exit message: File reads the message file only; FallbackToLogsOnError uses the log tail if that file is empty after an error. Defaults to File.
             * @default File
             * @enum {string}
             */
            terminationMessagePolicy?: "FallbackToLogsOnError" | "File";
            /** @description Allocate a terminal for the container; stdin must be enabled too. Defaults to false. */
            tty?: boolean;
            /** @description Raw block volumes of the pod to expose inside the container as device nodes. */
            volumeDevices?: components["schemas"]["io.k8s.api.core.v1.VolumeDevice"][];
            /** @description Existing pod volumes to mount into the container. Sub-path mounts are rejected here. */
            volumeMounts?: components["schemas"]["io.k8s.api.core.v1.VolumeMount"][];
            /** @description Directory in which the process starts. If empty, the image's or runtime's default is used. */
            workingDir?: string;
        };
        /** @description Asks for a volume that is provisioned through a claim created for, owned by and deleted with the pod. */
        "io.k8s.api.core.v1.EphemeralVolumeSource": {
            /** @description Blueprint for the claim, which is named after the pod and volume joined by a dash. Required and cannot be changed. */
            volumeClaimTemplate?: components["schemas"]["io.k8s.api.core.v1.PersistentVolumeClaimTemplate"];
        };
        /** @description Reports something that happened to an object in the cluster. Events are best-effort, short-lived and meant for people rather than automation. */
        "io.k8s.api.core.v1.Event": {
            /** @description What was done, or failed, with regard to the involved object, such as Binding or Killing. */
            action?: string;
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /**
             * Format: int32
             * @description How many times the same event has been recorded.
             */
            count?: number;
            /** @description When the event was first observed, with microsecond precision. */
            eventTime?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"];
            /** @description When this event was first seen, to the second. */
            firstTimestamp?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description The object that the event is about. */
            involvedObject: components["schemas"]["io.k8s.api.core.v1.ObjectReference"];
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description When this event was most recently seen, to the second. */
            lastTimestamp?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description Human-readable account of what happened. */
            message?: string;
            /** @description Object metadata of the event; its namespace must agree with that of the involved object. */
            metadata: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Brief CamelCase word explaining why the event was emitted, suitable for filtering. */
            reason?: string;
            /** @description A second object that plays a part in a more complex action. */
            related?: components["schemas"]["io.k8s.api.core.v1.ObjectReference"];
            /** @description Name of the controller that emitted the event, for example example.com/my-controller. */
            reportingComponent?: string;
            /** @description Identifies which running copy of the controller emitted the event, often its pod name. */
            reportingInstance?: string;
            /** @description Repetition details when the event is part of an ongoing series; absent for a one-off event. */
            series?: components["schemas"]["io.k8s.api.core.v1.EventSeries"];
            /** @description Component and host that emitted the event. Newer emitters fill reportingComponent instead. */
            source?: components["schemas"]["io.k8s.api.core.v1.EventSource"];
            /** @description Severity class of the event, normally Normal or Warning. */
            type?: string;
        };
        /** @description Tracks an event that keeps recurring, so repeats update one object. */
        "io.k8s.api.core.v1.EventSeries": {
            /**
             * Format: int32
             * @description Occurrences seen so far, up to the last heartbeat of the series.
             */
            count?: number;
            /** @description Time of the latest known occurrence, with microsecond precision. */
            lastObservedTime?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"];
        };
        /** @description Origin of an event: the component and machine that produced it. */
        "io.k8s.api.core.v1.EventSource": {
            /** @description Component that generated the event, for example the kubelet or a controller. */
            component?: string;
            /** @description Node name from which the event was generated, if it came from a node. */
            host?: string;
        };
        /** @description Runs a command inside the container to act as a probe or hook. */
        "io.k8s.api.core.v1.ExecAction": {
            /** @description Executable and its arguments, started in the container without a shell. Exit code zero means success; anything else is a failure. */
            command?: string[];
        };
        /** @description Mounts a Fibre Channel LUN. Give either wwids, or targetWWNs together with lun. */
        "io.k8s.api.core.v1.FCVolumeSource": {
            /** @description Filesystem on the device, such as ext4 or xfs; the node's OS must support it. Treated as ext4 when empty. */
            fsType?: string;
            /**
             * Format: int32
             * @description Logical unit number on the Fibre Channel target, from 0 to 255.
             */
            lun?: number;
            /** @description When true, the device is mounted without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description World wide names of the Fibre Channel target ports. Must be combined with lun. */
            targetWWNs?: string[];
            /** @description World wide identifiers of the volume, used in place of targetWWNs and lun. */
            wwids?: string[];
        };
        /** @description Mounts storage into a pod through a deprecated exec-based driver installed on the node. */
        "io.k8s.api.core.v1.FlexVolumeSource": {
            /** @description Name of the FlexVolume driver to invoke, in vendor/driver form. */
            driver: string;
            /** @description Filesystem to mount, such as ext4 or xfs. If empty, the driver script chooses. */
            fsType?: string;
            /** @description Extra settings passed to the driver as key-value pairs. */
            options?: {
                [key: string]: string;
            };
            /** @description When true, the driver is asked to mount without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description Secret in the pod's namespace whose contents are passed to the driver's scripts. */
            secretRef?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
        };
        /** @description Mounts a dataset managed by the Flocker agent on the node. Exactly one of datasetName and datasetUUID must be set. */
        "io.k8s.api.core.v1.FlockerVolumeSource": {
            /** @description Dataset name as stored in the Flocker dataset's metadata. Deprecated in favour of datasetUUID. */
            datasetName?: string;
            /** @description Unique identifier of the Flocker dataset to mount. */
            datasetUUID?: string;
        };
        /** @description Mounts an existing Google Compute Engine disk from the node's own project and zone. Only read-only disks can be shared by several nodes. */
        "io.k8s.api.core.v1.GCEPersistentDiskVolumeSource": {
            /** @description Filesystem on the disk, such as ext4 or xfs; the node's OS must support it. Treated as ext4 when empty. */
            fsType?: string;
            /**
             * Format: int32
             * @description Number of the disk partition to mount, for example 1 for the first one. Zero or unset mounts the whole device.
             */
            partition?: number;
            /** @description Name of the disk resource in Google Compute Engine. */
            pdName: string;
            /** @description When true, the disk is attached and mounted without write access. Defaults to false. */
            readOnly?: boolean;
        };
        /** @description Probes a container by calling the standard gRPC health service on the pod's address. */
        "io.k8s.api.core.v1.GRPCAction": {
            /**
             * Format: int32
             * @description Port of the gRPC server to query, from 1 to 65535.
             */
            port: number;
            /**
             * @description Service name sent in the health request. Defaults to an empty string, which conventionally asks about the server as a whole.
             * @default
             */
            service?: string;
        };
        /** @description Deprecated volume that is populated once by cloning a git repository. An init container writing to an emptyDir is preferred. */
        "io.k8s.api.core.v1.GitRepoVolumeSource": {
            /** @description Target directory in the volume. A single dot clones into the volume root; .. is not allowed. */
            directory?: string;
            /** @description URL from which the repository is cloned. */
            repository: string;
            /** @description Commit hash, branch or tag to check out. If empty, the default branch is used. */
            revision?: string;
        };
        /** @description Mounts a Gluster filesystem directly into a pod. */
        "io.k8s.api.core.v1.GlusterfsVolumeSource": {
            /** @description Endpoints object in the pod's namespace listing the addresses of the Gluster servers. */
            endpoints: string;
            /** @description Name of the Gluster volume to mount. */
            path: string;
            /** @description When true, the Gluster volume is mounted without write access. Defaults to false. */
            readOnly?: boolean;
        };
        /** @description Sends an HTTP GET request as a probe or hook. For probes, status codes from 200 to 399 mean success. */
        "io.k8s.api.core.v1.HTTPGetAction": {
            /** @description Host to connect to. Defaults to the pod's IP; set a Host header instead to change only the virtual host. */
            host?: string;
            /** @description Additional headers to send. The same header name may be repeated. */
            httpHeaders?: components["schemas"]["io.k8s.api.core.v1.HTTPHeader"][];
            /**
             * @description URL path to request. Defaults to / when empty.
             * @default /
             */
            path?: string;
            /** @description Container port to contact: a number from 1 to 65535 or the name of a declared container port. */
            port: components["schemas"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
            /**
             * @description Protocol for the request: HTTP or HTTPS. Defaults to HTTP; certificates are not verified for HTTPS.
             * @default HTTP
             * @enum {string}
             */
            scheme?: "HTTP" | "HTTPS";
        };
        /** @description A custom header sent along with an HTTP probe or hook request. */
        "io.k8s.api.core.v1.HTTPHeader": {
            /** @description Header field name, such as Host or Authorization. */
            name: string;
            /** @description Text sent as the header's value. */
            value: string;
        };
        /** @description Adds host names for one address to the pod's hosts file. */
        "io.k8s.api.core.v1.HostAlias": {
            /** @description Host names that are mapped to the address. */
            hostnames?: string[];
            /** @description IP address that the listed host names should resolve to. */
            ip?: string;
        };
        /** @description Exposes a file or directory of the node to the pod. It gives access to the host, so use it with care. */
        "io.k8s.api.core.v1.HostPathVolumeSource": {
            /** @description Location on the node's filesystem. A symbolic link is followed to its target. */
            path: string;
            /**
             * @description Check made before mounting: DirectoryOrCreate, Directory, FileOrCreate, File, Socket, CharDevice or BlockDevice. Empty, the default, performs no check.
             * @default
             * @enum {string}
             */
            type?: "" | "BlockDevice" | "CharDevice" | "Directory" | "DirectoryOrCreate" | "File" | "FileOrCreate" | "Socket";
        };
        /** @description Mounts an iSCSI disk into a pod. Such a disk may be written from only one node at a time. */
        "io.k8s.api.core.v1.ISCSIVolumeSource": {
            /** @description Whether discovery of the target uses CHAP authentication. Needs secretRef when true. */
            chapAuthDiscovery?: boolean;
            /** @description Whether the login session uses CHAP authentication. Needs secretRef when true. */
            chapAuthSession?: boolean;
            /** @description Filesystem on the disk, such as ext4 or xfs; the node's OS must support it. Treated as ext4 when empty. */
            fsType?: string;
            /** @description Custom initiator IQN. Combined with iscsiInterface, it creates a dedicated interface for this connection. */
            initiatorName?: string;
            /** @description Qualified name of the iSCSI target to log in to. */
            iqn: string;
            /**
             * @description Initiator interface, that is transport configuration, to use. Defaults to the interface called default, which is plain TCP.
             * @default default
             */
            iscsiInterface?: string;
            /**
             * Format: int32
             * @description Logical unit number on the target, from 0 to 255.
             */
            lun: number;
            /** @description Further portal addresses of the same target, used for multipath access. */
            portals?: string[];
            /** @description When true, the disk is mounted without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description Secret in the pod's namespace with the CHAP user names and passwords for target and initiator. */
            secretRef?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
            /** @description Address of the iSCSI portal, as host or host:port when the port differs from the usual 3260. */
            targetPortal: string;
        };
        /** @description Maps one key of a config map or secret to a file inside a volume. */
        "io.k8s.api.core.v1.KeyToPath": {
            /** @description Key whose value becomes the file's content. */
            key: string;
            /**
             * Format: int32
             * @description Permission bits for this file, from 0 to 0777. If absent, the volume's defaultMode applies.
             */
            mode?: number;
            /** @description Location of the file relative to the volume root. It may not be absolute or contain a .. element. */
            path: string;
        };
        /** @description Hooks the node runs at defined points in a container's life. Termination waits for the stop hook within the grace period. */
        "io.k8s.api.core.v1.Lifecycle": {
            /** @description Runs right after the container is created. If it fails, the container is killed and handled by its restart policy. */
            postStart?: components["schemas"]["io.k8s.api.core.v1.LifecycleHandler"];
            /** @description Runs before a container is stopped on request or after a failed probe, but not when it exits by itself. */
            preStop?: components["schemas"]["io.k8s.api.core.v1.LifecycleHandler"];
        };
        /** @description Action performed by a lifecycle hook. Exactly one member must be set. */
        "io.k8s.api.core.v1.LifecycleHandler": {
            /** @description Runs a command inside the container. */
            exec?: components["schemas"]["io.k8s.api.core.v1.ExecAction"];
            /** @description Sends an HTTP GET request to the container. */
            httpGet?: components["schemas"]["io.k8s.api.core.v1.HTTPGetAction"];
            /** @description Deprecated and not supported for hooks; accepted for compatibility but fails when the hook runs. */
            tcpSocket?: components["schemas"]["io.k8s.api.core.v1.TCPSocketAction"];
        };
        /** @description One address at which a load balancer accepts traffic for a service or ingress. */
        "io.k8s.api.core.v1.LoadBalancerIngress": {
            /** @description DNS name of the load balancer, set by providers that hand out names rather than IPs. */
            hostname?: string;
            /** @description Address of the load balancer, set by providers that hand out IPs. */
            ip?: string;
            /** @description State of each service port on this load balancer, including any error reported for it. */
            ports?: components["schemas"]["io.k8s.api.core.v1.PortStatus"][];
        };
        /** @description Observed state of an external load balancer. */
        "io.k8s.api.core.v1.LoadBalancerStatus": {
            /** @description Addresses through which clients reach the load balancer. Empty until it has been provisioned. */
            ingress?: components["schemas"]["io.k8s.api.core.v1.LoadBalancerIngress"][];
        };
        /** @description Refers by name to another object in the same namespace. */
        "io.k8s.api.core.v1.LocalObjectReference": {
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
        };
        /** @description Mounts a directory exported by an NFS server. Its contents outlive the pod. */
        "io.k8s.api.core.v1.NFSVolumeSource": {
            /** @description Absolute path of the export on the server. */
            path: string;
            /** @description When true, the export is mounted without write access. Defaults to false. */
            readOnly?: boolean;
            /** @description Host name or IP address of the NFS server. */
            server: string;
        };
        /** @description Provides a scope for object names, so that users and teams can share a cluster without collisions. */
        "io.k8s.api.core.v1.Namespace": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Object metadata of the namespace; namespaces are themselves cluster scoped. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Desired behaviour of the namespace, namely what must happen before it can be removed. */
            spec?: components["schemas"]["io.k8s.api.core.v1.NamespaceSpec"];
            /** @description Lifecycle state of the namespace, maintained by the system. */
            status?: components["schemas"]["io.k8s.api.core.v1.NamespaceStatus"];
        };
        /** @description One observation about the progress of deleting a namespace. */
        "io.k8s.api.core.v1.NamespaceCondition": {
            /** @description Time at which the condition last switched from one status to another. */
            lastTransitionTime?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description Human-readable detail, for example which resources still remain. */
            message?: string;
            /** @description Brief CamelCase cause for the condition's latest status. */
            reason?: string;
            /** @description Whether the condition holds: True, False or Unknown. */
            status: string;
            /** @description What is observed, such as NamespaceDeletionContentFailure, NamespaceContentRemaining or NamespaceFinalizersRemaining. */
            type: string;
        };
        /** @description Desired settings of a namespace. */
        "io.k8s.api.core.v1.NamespaceSpec": {
            /** @description Tokens that must all be removed before the namespace is finally deleted. Changed only through the finalize subresource. */
            finalizers?: string[];
        };
        /** @description Observed lifecycle state of a namespace. */
        "io.k8s.api.core.v1.NamespaceStatus": {
            /** @description Latest observations about the namespace, filled in mainly while deletion is under way. */
            conditions?: components["schemas"]["io.k8s.api.core.v1.NamespaceCondition"][];
            /**
             * @description Active while the namespace is usable, or Terminating once deletion has begun and no new content is accepted.
             * @default Active
             * @enum {string}
             */
            phase?: "Active" | "Terminating";
        };
        /** @description Scheduling rules that match nodes against a pod. They are evaluated only at scheduling time. */
        "io.k8s.api.core.v1.NodeAffinity": {
            /** @description Weighted preferences; nodes with the highest sum of matching weights are favoured, but others remain eligible. */
            preferredDuringSchedulingIgnoredDuringExecution?: components["schemas"]["io.k8s.api.core.v1.PreferredSchedulingTerm"][];
            /** @description Conditions a node must satisfy for the pod to be scheduled there. Later node changes do not evict the pod. */
            requiredDuringSchedulingIgnoredDuringExecution?: components["schemas"]["io.k8s.api.core.v1.NodeSelector"];
        };
        /** @description Selects nodes that match at least one of several terms; the terms are combined with OR. */
        "io.k8s.api.core.v1.NodeSelector": {
            /** @description Alternatives, of which any one may match. At least one is required. */
            nodeSelectorTerms: components["schemas"]["io.k8s.api.core.v1.NodeSelectorTerm"][];
        };
        /** @description A test applied to one node label or field. */
        "io.k8s.api.core.v1.NodeSelectorRequirement": {
            /** @description Label key, or field name in matchFields, whose value is tested. */
            key: string;
            /**
             * @description Comparison to apply: In, NotIn, Exists, DoesNotExist, Gt or Lt.
             * @enum {string}
             */
            operator: "DoesNotExist" | "Exists" | "Gt" | "In" | "Lt" | "NotIn";
            /** @description Operands: at least one for In and NotIn, none for Exists and DoesNotExist, and one integer for Gt and Lt. */
            values?: string[];
        };
        /** @description A set of node tests that must all pass. A term without any test matches no node. */
        "io.k8s.api.core.v1.NodeSelectorTerm": {
            /** @description Tests on the node's labels, all of which must hold. */
            matchExpressions?: components["schemas"]["io.k8s.api.core.v1.NodeSelectorRequirement"][];
            /** @description Tests on the node's fields, all of which must hold. Only metadata.name is supported. */
            matchFields?: components["schemas"]["io.k8s.api.core.v1.NodeSelectorRequirement"][];
        };
        /** @description Picks a single field of the pod by its path. */
        "io.k8s.api.core.v1.ObjectFieldSelector": {
            /**
             * @description Version of the schema in which fieldPath is written. Defaults to v1.
             * @default v1
             */
            apiVersion?: string;
            /** @description Path of the field to read, for example metadata.name or metadata.labels['app']. */
            fieldPath: string;
        };
        /** @description Identifies another object, or a part of one, with enough detail to look it up. */
        "io.k8s.api.core.v1.ObjectReference": {
            /** @description Group and version of the object's kind, such as apps/v1. */
            apiVersion?: string;
            /** @description Path to a part of the object when not referring to it whole, for example spec.containers{web}. */
            fieldPath?: string;
            /** @description Kind of the object being referred to, such as Pod. */
            kind?: string;
            /** @description Name of the object being referred to. */
            name?: string;
            /** @description Namespace of the object being referred to; empty for cluster-scoped kinds. */
            namespace?: string;
            /** @description Specific version of the object meant by the reference, if any. */
            resourceVersion?: string;
            /** @description UID that tells the object apart from others that had the same name. */
            uid?: string;
        };
        /** @description Characteristics of the storage that a claim asks for. */
        "io.k8s.api.core.v1.PersistentVolumeClaimSpec": {
            /** @description Ways the volume must be mountable: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod. */
            accessModes?: ("ReadOnlyMany" | "ReadWriteMany" | "ReadWriteOnce")[];
            /** @description Snapshot or existing claim in the same namespace whose content pre-fills the new volume. */
            dataSource?: components["schemas"]["io.k8s.api.core.v1.TypedLocalObjectReference"];
            /** @description Object of nearly any kind in the same namespace that pre-fills the volume; kept in step with dataSource. */
            dataSourceRef?: components["schemas"]["io.k8s.api.core.v1.TypedLocalObjectReference"];
            /** @description Minimum storage wanted, under requests.storage in bytes. May be raised later if the storage class permits expansion. */
            resources?: components["schemas"]["io.k8s.api.core.v1.ResourceRequirements"];
            /** @description Label query restricting which existing volumes may be bound to the claim. */
            selector?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"];
            /** @description Storage class to use. Absent selects the default class; an empty string asks for a volume without class. */
            storageClassName?: string;
            /** @description Class of the attributes that the storage system gives the volume, such as its throughput. It may be changed while the claim is bound. */
            volumeAttributesClassName?: string;
            /**
             * @description Whether the volume is used as Filesystem (default) or as raw Block device.
             * @default Filesystem
             * @enum {string}
             */
            volumeMode?: "Block" | "Filesystem";
            /** @description Name of the PersistentVolume bound to this claim; may be preset to ask for a specific volume. */
            volumeName?: string;
        };
        /** @description Blueprint from which the claim behind a generic ephemeral volume is made. */
        "io.k8s.api.core.v1.PersistentVolumeClaimTemplate": {
            /** @description Labels and annotations copied to the generated claim; other fields are rejected. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Claim specification copied unchanged into the generated claim. */
            spec: components["schemas"]["io.k8s.api.core.v1.PersistentVolumeClaimSpec"];
        };
        /** @description Uses an existing claim in the pod's namespace as a volume. */
        "io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource": {
            /** @description Name of the claim to mount, in the same namespace as the pod. */
            claimName: string;
            /** @description Forces read-only mounts of the volume throughout the pod. Defaults to false. */
            readOnly?: boolean;
        };
        /** @description Refers to a Photon Controller persistent disk. */
        "io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource": {
            /** @description File system to mount, for example ext4, which is assumed when empty. */
            fsType?: string;
            /** @description Identifier of the disk inside Photon Controller. */
            pdID: string;
        };
        /** @description Group of containers that share network and storage and run together on one node. */
        "io.k8s.api.core.v1.Pod": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Name, labels and other identifying metadata of the pod. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Containers, volumes and placement wanted for the pod; mostly fixed after creation. */
            spec?: components["schemas"]["io.k8s.api.core.v1.PodSpec"];
            /** @description Phase, conditions and addresses reported for the pod. Read-only for users. */
            status?: components["schemas"]["io.k8s.api.core.v1.PodStatus"];
        };
        /** @description Rules that draw a pod towards places where certain other pods run. */
        "io.k8s.api.core.v1.PodAffinity": {
            /** @description Weighted terms the scheduler tries to meet; the node with the highest sum of weights is favoured. */
            preferredDuringSchedulingIgnoredDuringExecution?: components["schemas"]["io.k8s.api.core.v1.WeightedPodAffinityTerm"][];
            /** @description Terms that must all be met before the pod is placed; later changes do not move a running pod. */
            requiredDuringSchedulingIgnoredDuringExecution?: components["schemas"]["io.k8s.api.core.v1.PodAffinityTerm"][];
        };
        /** @description Selects a set of pods and the topology domain in which to be near or far from them. */
        "io.k8s.api.core.v1.PodAffinityTerm": {
            /** @description Label query for the pods to compare with. A missing selector matches no pods. */
            labelSelector?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"];
            /** @description Label query for further namespaces to consider. An empty selector covers all namespaces. */
            namespaceSelector?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"];
            /** @description Names of namespaces whose pods are considered. With namespaceSelector also absent, the pod's own namespace is used. */
            namespaces?: string[];
            /** @description Node label that defines a domain; nodes with equal values are in the same place. Must not be empty. */
            topologyKey: string;
        };
        /** @description Rules that keep a pod away from places where certain other pods run. */
        "io.k8s.api.core.v1.PodAntiAffinity": {
            /** @description Weighted terms the scheduler tries to honour; nodes that violate heavily weighted terms are disfavoured. */
            preferredDuringSchedulingIgnoredDuringExecution?: components["schemas"]["io.k8s.api.core.v1.WeightedPodAffinityTerm"][];
            /** @description Terms that must all be honoured before the pod is placed; later changes do not evict a running pod. */
            requiredDuringSchedulingIgnoredDuringExecution?: components["schemas"]["io.k8s.api.core.v1.PodAffinityTerm"][];
        };
        /** @description One observation about how far a pod has progressed. */
        "io.k8s.api.core.v1.PodCondition": {
            /** @description Moment at which the condition was most recently checked. */
            lastProbeTime?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description Moment at which the condition's status value most recently flipped. */
            lastTransitionTime?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description Free-form explanation of the latest status change, meant for people. */
            message?: string;
            /** @description Short CamelCase token explaining the latest status change to programs. */
            reason?: string;
            /** @description Whether the condition holds: True, False or Unknown. */
            status: string;
            /** @description Aspect being reported, such as PodScheduled, Initialized, ContainersReady, Ready or a custom readiness gate. */
            type: string;
        };
        /** @description Resolver settings merged with those produced by the pod's DNS policy. */
        "io.k8s.api.core.v1.PodDNSConfig": {
            /** @description DNS server addresses added to the ones from dnsPolicy; duplicates are dropped. */
            nameservers?: string[];
            /** @description Resolver options merged with the ones from dnsPolicy; an entry here replaces one of the same name. */
            options?: components["schemas"]["io.k8s.api.core.v1.PodDNSConfigOption"][];
            /** @description Search domains for host name lookup, added to the ones from dnsPolicy; duplicates are dropped. */
            searches?: string[];
        };
        /** @description One resolver option written to the pod's resolv.conf. */
        "io.k8s.api.core.v1.PodDNSConfigOption": {
            /** @description Keyword of the resolver option, for example ndots. Required. */
            name?: string;
            /** @description Argument of the option, for example 2 for ndots; omitted for plain flags. */
            value?: string;
        };
        /** @description One IP address assigned to a pod. */
        "io.k8s.api.core.v1.PodIP": {
            /** @description IPv4 or IPv6 address by which the pod can be reached. */
            ip?: string;
        };
        /** @description Declares the operating system for which a pod's containers are built. */
        "io.k8s.api.core.v1.PodOS": {
            /**
             * @description Operating system of the containers: linux or windows. Settings for the other system are then rejected.
             * @enum {string}
             */
            name: "linux" | "windows";
        };
        /** @description Names an extra condition that has to be true before a pod counts as ready. */
        "io.k8s.api.core.v1.PodReadinessGate": {
            /** @description Type of the pod condition to check; a missing condition counts as not ready. */
            conditionType: string;
        };
        /** @description Security settings for a whole pod; a container's own settings take precedence. */
        "io.k8s.api.core.v1.PodSecurityContext": {
            /**
             * Format: int64
             * @description Group ID that owns supported volumes and is added to every process, so that files are group-accessible. Linux only.
             */
            fsGroup?: number;
            /**
             * @description When to adjust volume ownership for fsGroup: Always (default) or OnRootMismatch, which skips volumes already correct.
             * @enum {string}
             */
            fsGroupChangePolicy?: "Always" | "OnRootMismatch";
            /**
             * Format: int64
             * @description Numeric primary group ID for container processes. The runtime's default applies when unset. Linux only.
             */
            runAsGroup?: number;
            /** @description When true, the node agent refuses to start containers that would run as user 0. */
            runAsNonRoot?: boolean;
            /**
             * Format: int64
             * @description Numeric user ID for container processes. Defaults to the user given in the image. Linux only.
             */
            runAsUser?: number;
            /** @description SELinux label for all containers. Without it the container runtime assigns a random label to each. Linux only. */
            seLinuxOptions?: components["schemas"]["io.k8s.api.core.v1.SELinuxOptions"];
            /** @description System call filter for all containers of the pod. Linux only. */
            seccompProfile?: components["schemas"]["io.k8s.api.core.v1.SeccompProfile"];
            /** @description Extra group IDs given to the first process of each container, on top of its primary group. Linux only. */
            supplementalGroups?: number[];
            /** @description Kernel parameters set for the pod's namespaces; an unsupported one prevents the pod from starting. Linux only. */
            sysctls?: components["schemas"]["io.k8s.api.core.v1.Sysctl"][];
            /** @description Windows-specific settings applied to all containers. Not allowed for Linux pods. */
            windowsOptions?: components["schemas"]["io.k8s.api.core.v1.WindowsSecurityContextOptions"];
        };
        /** @description Desired contents and behaviour of a pod. */
        "io.k8s.api.core.v1.PodSpec": {
            /**
             * Format: int64
             * @description Seconds the pod may be active on a node before it is stopped and marked failed. Absent means no limit.
             */
            activeDeadlineSeconds?: number;
            /** @description Scheduling rules about preferred or required nodes and about nearness to other pods. */
            affinity?: components["schemas"]["io.k8s.api.core.v1.Affinity"];
            /** @description Whether an API token is mounted into containers. Overrides the service account's setting; true when neither is set. */
            automountServiceAccountToken?: boolean;
            /** @description Main containers of the pod; at least one is needed and none can be added or removed later. */
            containers: components["schemas"]["io.k8s.api.core.v1.Container"][];
            /** @description Resolver settings merged with those of dnsPolicy; with policy None they are the only ones. */
            dnsConfig?: components["schemas"]["io.k8s.api.core.v1.PodDNSConfig"];
            /**
             * @description Source of DNS settings: ClusterFirst (default), ClusterFirstWithHostNet, Default (from the node) or None (only dnsConfig).
             * @default ClusterFirst
             * @enum {string}
             */
            dnsPolicy?: "ClusterFirstWithHostNet" | "ClusterFirst" | "Default" | "None";
            /** @description Whether environment variables describing the namespace's Services are injected. Defaults to true. */
            enableServiceLinks?: boolean;
            /** @description Temporary debugging containers, added to a running pod only through the ephemeralcontainers subresource. */
            ephemeralContainers?: components["schemas"]["io.k8s.api.core.v1.EphemeralContainer"][];
            /** @description Additional lines for the pod's hosts file. Not valid for pods on the host network. */
            hostAliases?: components["schemas"]["io.k8s.api.core.v1.HostAlias"][];
            /** @description Lets containers use the node's inter-process communication namespace. Defaults to false. */
            hostIPC?: boolean;
            /** @description Runs the pod in the node's network namespace, so container ports occupy node ports. Defaults to false. */
            hostNetwork?: boolean;
            /** @description Lets containers see the node's processes. Defaults to false. */
            hostPID?: boolean;
            /** @description Whether the node's user namespace is used. Defaults to true; false creates a separate one for the pod. */
            hostUsers?: boolean;
            /** @description Host name seen inside the pod. The pod's name is used when absent. */
            hostname?: string;
            /** @description Secrets in the same namespace holding registry credentials for pulling the pod's images. */
            imagePullSecrets?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"][];
            /** @description Containers that run one after another, each to success, before the regular ones start. */
            initContainers?: components["schemas"]["io.k8s.api.core.v1.Container"][];
            /** @description Node on which the pod runs; filled in by the scheduler. Setting it directly bypasses scheduling. */
            nodeName?: string;
            /** @description Labels a node must carry, with these values, to be eligible for the pod. */
            nodeSelector?: {
                [key: string]: string;
            };
            /** @description Operating system the containers need. When set, fields meant for another system must be absent. */
            os?: components["schemas"]["io.k8s.api.core.v1.PodOS"];
            /** @description Resources consumed by the sandbox itself, beyond the containers. Set by admission from the RuntimeClass. */
            overhead?: {
                [key: string]: components["schemas"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
            };
            /** @description Whether the pod may displace lower-priority pods: PreemptLowerPriority (default) or Never. */
            preemptionPolicy?: string;
            /**
             * Format: int32
             * @description Numeric scheduling importance, higher first. Set by admission from priorityClassName and not to be chosen by users.
             */
            priority?: number;
            /** @description PriorityClass from which the pod's priority is taken. The global default class, or priority 0, applies when empty. */
            priorityClassName?: string;
            /** @description Additional conditions that must be true, beside container readiness, before the pod is ready. */
            readinessGates?: components["schemas"]["io.k8s.api.core.v1.PodReadinessGate"][];
            /**
             * @description When ended containers are started again: Always (default), OnFailure or Never.
             * @default Always
             * @enum {string}
             */
            restartPolicy?: "Always" | "OnFailure" | "Never";
            /** @description RuntimeClass used to run the containers. Absent selects the node's default runtime. */
            runtimeClassName?: string;
            /**
             * @description Scheduler that is to place the pod. Defaults to default-scheduler.
             * @default default-scheduler
             */
            schedulerName?: string;
            /**
             * @description Security settings common to all containers of the pod. Defaults to an empty set.
             * @default {}
             */
            securityContext?: components["schemas"]["io.k8s.api.core.v1.PodSecurityContext"];
            /** @description Older alias of serviceAccountName; the server keeps both equal. */
            serviceAccount?: string;
            /** @description Service account whose identity the pod uses. Admission fills in default when it is empty. */
            serviceAccountName?: string;
            /** @description Makes the pod's host name its fully qualified domain name instead of the short one. Defaults to false. */
            setHostnameAsFQDN?: boolean;
            /** @description Gives all containers one common process namespace. Cannot be combined with hostPID; defaults to false. */
            shareProcessNamespace?: boolean;
            /** @description Domain part for the pod's full host name, normally the name of a headless Service. */
            subdomain?: string;
            /**
             * Format: int64
             * @description Seconds between the stop signal and forced kill on deletion. Defaults to 30; 0 kills at once.
             * @default 30
             */
            terminationGracePeriodSeconds?: number;
            /** @description Node taints the pod accepts, so that it can be scheduled or stay there. */
            tolerations?: components["schemas"]["io.k8s.api.core.v1.Toleration"][];
            /** @description Rules for spreading matching pods evenly over zones, nodes or other domains; all must be satisfied. */
            topologySpreadConstraints?: components["schemas"]["io.k8s.api.core.v1.TopologySpreadConstraint"][];
            /** @description Storage that containers of the pod can mount, each entry addressed by its name. */
            volumes?: components["schemas"]["io.k8s.api.core.v1.Volume"][];
        };
        /** @description Latest observed state of a pod, written mainly by the agent on its node. */
        "io.k8s.api.core.v1.PodStatus": {
            /** @description Current observations about scheduling, initialization and readiness, one entry per type. */
            conditions?: components["schemas"]["io.k8s.api.core.v1.PodCondition"][];
            /** @description State of each main container, including restarts and readiness. */
            containerStatuses?: components["schemas"]["io.k8s.api.core.v1.ContainerStatus"][];
            /** @description State of each ephemeral container that was added to the pod. */
            ephemeralContainerStatuses?: components["schemas"]["io.k8s.api.core.v1.ContainerStatus"][];
            /** @description IP address of the node the pod was assigned to; empty before scheduling. */
            hostIP?: string;
            /** @description State of each init container, in the order of the specification. */
            initContainerStatuses?: components["schemas"]["io.k8s.api.core.v1.ContainerStatus"][];
            /** @description Explanation of why the pod is in this state, meant for people. */
            message?: string;
            /** @description Node on which lower-priority pods are being removed to make room; the pod may still land elsewhere. */
            nominatedNodeName?: string;
            /**
             * @description Overall lifecycle stage: Pending, Running, Succeeded, Failed or Unknown.
             * @enum {string}
             */
            phase?: "Failed" | "Pending" | "Running" | "Succeeded" | "Unknown";
            /** @description Primary IP address of the pod, reachable within the cluster; empty until assigned. */
            podIP?: string;
            /** @description All IP addresses of the pod, at most one per IP family; the first equals podIP. */
            podIPs?: components["schemas"]["io.k8s.api.core.v1.PodIP"][];
            /**
             * @description Quality of service class derived from requests and limits: Guaranteed, Burstable or BestEffort.
             * @enum {string}
             */
            qosClass?: "BestEffort" | "Burstable" | "Guaranteed";
            /** @description Short CamelCase token telling why the pod is in this state, for example Evicted. */
            reason?: string;
            /** @description Moment at which the node agent acknowledged the pod, before any image was pulled. */
            startTime?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
        };
        /** @description State of one port on a load balancer. */
        "io.k8s.api.core.v1.PortStatus": {
            /** @description CamelCase or domain-prefixed token describing why the port could not be set up. Absent when it works. */
            error?: string;
            /**
             * Format: int32
             * @description Number of the Service port this entry reports on.
             */
            port: number;
            /**
             * @description Transport protocol of the port: TCP, UDP or SCTP.
             * @enum {string}
             */
            protocol: "SCTP" | "TCP" | "UDP";
        };
        /** @description Refers to a Portworx volume. */
        "io.k8s.api.core.v1.PortworxVolumeSource": {
            /** @description File system to mount, for example ext4 or xfs; ext4 is assumed when empty. */
            fsType?: string;
            /** @description Forces read-only mounts of the volume. Defaults to false. */
            readOnly?: boolean;
            /** @description Identifier that Portworx gave to the volume. */
            volumeID: string;
        };
        /** @description Node preference with a weight; a term without requirements has no effect. */
        "io.k8s.api.core.v1.PreferredSchedulingTerm": {
            /** @description Node requirements that earn the weight when they are met. */
            preference: components["schemas"]["io.k8s.api.core.v1.NodeSelectorTerm"];
            /**
             * Format: int32
             * @description Score added for nodes that match, from 1 to 100.
             */
            weight: number;
        };
        /** @description Periodic health check that the node agent performs on a container. */
        "io.k8s.api.core.v1.Probe": {
            /** @description Runs a command in the container; exit code 0 means healthy. */
            exec?: components["schemas"]["io.k8s.api.core.v1.ExecAction"];
            /**
             * Format: int32
             * @description Consecutive failures needed before the check is considered failed. Defaults to 3, minimum 1.
             * @default 3
             */
            failureThreshold?: number;
            /** @description Calls the standard gRPC health service on a port of the container. */
            grpc?: components["schemas"]["io.k8s.api.core.v1.GRPCAction"];
            /** @description Sends an HTTP GET request; a response code from 200 to 399 means healthy. */
            httpGet?: components["schemas"]["io.k8s.api.core.v1.HTTPGetAction"];
            /**
             * Format: int32
             * @description Seconds to wait after the container starts before the first check. Defaults to 0.
             */
            initialDelaySeconds?: number;
            /**
             * Format: int32
             * @description Seconds between two checks. Defaults to 10, minimum 1.
             * @default 10
             */
            periodSeconds?: number;
            /**
             * Format: int32
             * @description Consecutive successes needed to recover after a failure. Defaults to 1 and must be 1 for liveness and startup.
             * @default 1
             */
            successThreshold?: number;
            /** @description Opens a TCP connection to a port; an accepted connection means healthy. */
            tcpSocket?: components["schemas"]["io.k8s.api.core.v1.TCPSocketAction"];
            /**
             * Format: int64
             * @description Seconds granted for shutdown when this check fails, overriding the pod's value. Not allowed for readiness checks.
             */
            terminationGracePeriodSeconds?: number;
            /**
             * Format: int32
             * @description Seconds after which a check without answer counts as failed. Defaults to 1, minimum 1.
             * @default 1
             */
            timeoutSeconds?: number;
        };
        /** @description Combines several sources of files into one directory. */
        "io.k8s.api.core.v1.ProjectedVolumeSource": {
            /**
             * Format: int32
             * @description Permission bits for files without their own mode, octal in YAML, decimal in JSON. Defaults to 0644.
             * @default 420
             */
            defaultMode?: number;
            /** @description Secrets, config maps, downward API files and tokens to place in the directory. */
            sources?: components["schemas"]["io.k8s.api.core.v1.VolumeProjection"][];
        };
        /** @description Mounts a Quobyte volume that lives as long as it is kept in Quobyte, not the pod. */
        "io.k8s.api.core.v1.QuobyteVolumeSource": {
            /** @description Group that accesses to the volume are mapped to. No group when empty. */
            group?: string;
            /** @description Forces read-only mounts of the volume. Defaults to false. */
            readOnly?: boolean;
            /** @description Registry services to contact, as host:port pairs separated by commas. */
            registry: string;
            /** @description Quobyte tenant owning the volume; normally set by the provisioner. */
            tenant?: string;
            /** @description User that accesses to the volume are mapped to. Defaults to the service account user. */
            user?: string;
            /** @description Name of an existing Quobyte volume to mount. */
            volume: string;
        };
        /** @description Mounts a Ceph RBD image directly in a pod. */
        "io.k8s.api.core.v1.RBDVolumeSource": {
            /** @description File system to mount from the image, for example ext4, xfs or ntfs. Treated as ext4 when empty. */
            fsType?: string;
            /** @description Name of the RBD image that holds the data. */
            image: string;
            /**
             * @description Path of the key ring file on the node. Defaults to /etc/ceph/keyring.
             * @default /etc/ceph/keyring
             */
            keyring?: string;
            /** @description Addresses of the Ceph monitors to contact; at least one is needed. */
            monitors: string[];
            /**
             * @description Ceph pool in which the image lives. Defaults to rbd.
             * @default rbd
             */
            pool?: string;
            /** @description Forces read-only mounts of the image. Defaults to false. */
            readOnly?: boolean;
            /** @description Secret in the pod's namespace with the Ceph user's key; takes precedence over keyring. */
            secretRef?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
            /**
             * @description Ceph user name for authentication. Defaults to admin.
             * @default admin
             */
            user?: string;
        };
        /** @description Picks a container's resource request or limit so that its value can be exposed to the container. */
        "io.k8s.api.core.v1.ResourceFieldSelector": {
            /** @description Container to read from; required in volumes, and the container itself when omitted in environment variables. */
            containerName?: string;
            /** @description Unit by which the value is divided before output, rounding up. Defaults to 1. */
            divisor?: components["schemas"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
            /** @description Value to expose, for example limits.cpu, requests.memory or limits.ephemeral-storage. */
            resource: string;
        };
        /** @description Amounts of compute resources that a container or claim needs or may use. */
        "io.k8s.api.core.v1.ResourceRequirements": {
            /** @description Most of each resource that may be used, such as cpu or memory. Absent means no cap. */
            limits?: {
                [key: string]: components["schemas"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
            };
            /** @description Least of each resource to reserve for scheduling. Defaults to limits for resources listed there. */
            requests?: {
                [key: string]: components["schemas"]["io.k8s.apimachinery.pkg.api.resource.Quantity"];
            };
        };
        /** @description Parts of the SELinux label applied to a container. */
        "io.k8s.api.core.v1.SELinuxOptions": {
            /** @description SELinux level component of the label, with sensitivity and categories. */
            level?: string;
            /** @description SELinux role component of the label. */
            role?: string;
            /** @description SELinux type component of the label, which most policy rules act on. */
            type?: string;
            /** @description SELinux user component of the label. */
            user?: string;
        };
        /** @description Mounts a ScaleIO volume directly in a pod. */
        "io.k8s.api.core.v1.ScaleIOVolumeSource": {
            /**
             * @description File system to mount, for example ext4 or xfs. Defaults to xfs.
             * @default xfs
             */
            fsType?: string;
            /** @description Host address of the ScaleIO API gateway. */
            gateway: string;
            /** @description ScaleIO protection domain in which the storage lives. */
            protectionDomain?: string;
            /** @description Forces read-only mounts of the volume. Defaults to false. */
            readOnly?: boolean;
            /** @description Secret in the pod's namespace with the ScaleIO user and other sensitive login data; login fails without it. */
            secretRef: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
            /** @description Whether to talk to the gateway over TLS. Defaults to false. */
            sslEnabled?: boolean;
            /**
             * @description Provisioning style of the volume: ThinProvisioned (default) or ThickProvisioned.
             * @default ThinProvisioned
             */
            storageMode?: string;
            /** @description Pool within the protection domain that provides the space. */
            storagePool?: string;
            /** @description Name of the storage system configured in ScaleIO. */
            system: string;
            /** @description Name of a volume that already exists in the ScaleIO system. */
            volumeName?: string;
        };
        /** @description Selects the system call filter for a container or pod; only one source may be set. */
        "io.k8s.api.core.v1.SeccompProfile": {
            /** @description Path of the profile file, relative to the node agent's seccomp directory. Only with type Localhost, where it is required. */
            localhostProfile?: string;
            /**
             * @description Source of the filter: Localhost (a file on the node), RuntimeDefault or Unconfined (no filter).
             * @enum {string}
             */
            type: "Localhost" | "RuntimeDefault" | "Unconfined";
        };
        /** @description Holds a small amount of sensitive data, at most about 1 MiB in total. */
        "io.k8s.api.core.v1.Secret": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Secret values by key, base64 encoded. Keys use letters, digits, dashes, underscores and dots. */
            data?: {
                [key: string]: string;
            };
            /** @description When true, data can never be changed again and the flag cannot be cleared. Defaults to false. */
            immutable?: boolean;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Name, labels and other identifying metadata of the secret. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Write-only plain text values merged into data on write, replacing equal keys. Never returned on read. */
            stringData?: {
                [key: string]: string;
            };
            /**
             * @description Hints at the content and the keys it needs. Defaults to Opaque; cannot be changed later.
             * @default Opaque
             */
            type?: string;
        };
        /** @description Turns every key of a Secret into an environment variable. */
        "io.k8s.api.core.v1.SecretEnvSource": {
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
            /** @description Whether the container may start although the Secret does not exist. Defaults to false. */
            optional?: boolean;
        };
        /** @description Picks one key of a Secret in the pod's namespace. */
        "io.k8s.api.core.v1.SecretKeySelector": {
            /** @description Entry of the Secret's data whose decoded value is used. */
            key: string;
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
            /** @description Whether the container may start although the Secret or key does not exist. Defaults to false. */
            optional?: boolean;
        };
        /** @description Places keys of a Secret as files into a projected volume. */
        "io.k8s.api.core.v1.SecretProjection": {
            /** @description Keys to include and their file paths. All keys are included under their own names when empty. */
            items?: components["schemas"]["io.k8s.api.core.v1.KeyToPath"][];
            /** @description Name of the referenced object, which must live in the same namespace as the one referring to it. */
            name?: string;
            /** @description Whether the pod may start although the Secret or a listed key does not exist. Defaults to false. */
            optional?: boolean;
        };
        /** @description Presents the keys of a Secret as files in a volume. */
        "io.k8s.api.core.v1.SecretVolumeSource": {
            /**
             * Format: int32
             * @description Permission bits for files without their own mode, octal in YAML, decimal in JSON. Defaults to 0644.
             * @default 420
             */
            defaultMode?: number;
            /** @description Keys to include and their file paths. All keys are included under their own names when empty. */
            items?: components["schemas"]["io.k8s.api.core.v1.KeyToPath"][];
            /** @description Whether the pod may start although the Secret or a listed key does not exist. Defaults to false. */
            optional?: boolean;
            /** @description Name of the Secret, in the pod's namespace, whose keys become files. */
            secretName?: string;
        };
        /** @description Security settings of a single container; they override the pod's settings where both exist. */
        "io.k8s.api.core.v1.SecurityContext": {
            /** @description Whether a process may gain more rights than its parent. Always true for privileged containers or those with CAP_SYS_ADMIN. */
            allowPrivilegeEscalation?: boolean;
            /** @description Linux capabilities to add to or drop from the runtime's default set. Linux only. */
            capabilities?: components["schemas"]["io.k8s.api.core.v1.Capabilities"];
            /** @description Gives the container nearly the same rights as root on the node. Defaults to false; Linux only. */
            privileged?: boolean;
            /** @description How the proc file system is mounted: Default masks sensitive paths, Unmasked does not. Linux only. */
            procMount?: string;
            /** @description Mounts the container's root file system without write access. Defaults to false; Linux only. */
            readOnlyRootFilesystem?: boolean;
            /**
             * Format: int64
             * @description Numeric primary group ID for the container's first process. The runtime's default applies when unset. Linux only.
             */
            runAsGroup?: number;
            /** @description When true, the node agent refuses to start the container if it would run as user 0. */
            runAsNonRoot?: boolean;
            /**
             * Format: int64
             * @description Numeric user ID for the container's first process. Defaults to the user given in the image. Linux only.
             */
            runAsUser?: number;
            /** @description SELinux label for this container. Without it the runtime assigns a random label. Linux only. */
            seLinuxOptions?: components["schemas"]["io.k8s.api.core.v1.SELinuxOptions"];
            /** @description System call filter for this container, overriding the pod's. Linux only. */
            seccompProfile?: components["schemas"]["io.k8s.api.core.v1.SeccompProfile"];
            /** @description Windows-specific settings for this container. Not allowed for Linux pods. */
            windowsOptions?: components["schemas"]["io.k8s.api.core.v1.WindowsSecurityContextOptions"];
        };
        /** @description Gives a set of pods a stable network name and address, and balances traffic among them. */
        "io.k8s.api.core.v1.Service": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Name, namespace, labels and other bookkeeping; the name becomes the DNS name. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Ports, pod selector and kind of exposure wanted. */
            spec?: components["schemas"]["io.k8s.api.core.v1.ServiceSpec"];
            /** @description Load balancer state and conditions of the Service. Read-only for users. */
            status?: components["schemas"]["io.k8s.api.core.v1.ServiceStatus"];
        };
        /** @description Places a regularly renewed service account token as a file into a projected volume. */
        "io.k8s.api.core.v1.ServiceAccountTokenProjection": {
            /** @description Recipient the token is meant for, which must check it. Defaults to the API server's audience. */
            audience?: string;
            /**
             * Format: int64
             * @description Wanted token lifetime in seconds; it is renewed before expiry. Defaults to 3600, minimum 600.
             * @default 3600
             */
            expirationSeconds?: number;
            /** @description File path of the token, relative to the volume's mount point. */
            path: string;
        };
        /** @description One port on which a Service accepts traffic. */
        "io.k8s.api.core.v1.ServicePort": {
            /** @description Hint about the application protocol spoken, as a registered service name or a domain-prefixed one. */
            appProtocol?: string;
            /** @description DNS label naming the port; required and unique when the Service has more than one. */
            name?: string;
            /**
             * Format: int32
             * @description Port opened on every node for NodePort and LoadBalancer Services. Allocated automatically when zero and needed.
             */
            nodePort?: number;
            /**
             * Format: int32
             * @description Port number on which the Service is reached, 1 to 65535.
             */
            port: number;
            /**
             * @description Transport protocol: TCP (default), UDP or SCTP.
             * @default TCP
             * @enum {string}
             */
            protocol?: "SCTP" | "TCP" | "UDP";
            /** @description Pod port, by number or container port name, that receives the traffic. Defaults to the value of port. */
            targetPort?: components["schemas"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
        };
        /** @description Desired behaviour of a Service. */
        "io.k8s.api.core.v1.ServiceSpec": {
            /** @description Whether LoadBalancer Services get node ports automatically. Defaults to true; disable if the balancer does not need them. */
            allocateLoadBalancerNodePorts?: boolean;
            /** @description Virtual IP address inside the cluster, allocated when empty. None makes the Service headless; otherwise it cannot be changed. */
            clusterIP?: string;
            /** @description All virtual IP addresses, at most one per IP family; the first one equals clusterIP. */
            clusterIPs?: string[];
            /** @description Addresses, routed to nodes by other means, on which nodes also accept traffic for this Service. */
            externalIPs?: string[];
            /** @description DNS name that lookups of the Service return as CNAME. Required for type ExternalName. */
            externalName?: string;
            /**
             * @description Routing of outside traffic: Cluster (default) uses all endpoints, Local only those on the receiving node, keeping client addresses.
             * @enum {string}
             */
            externalTrafficPolicy?: "Cluster" | "Local";
            /**
             * Format: int32
             * @description Node port that tells load balancers whether a node has local endpoints. Only for LoadBalancer with the Local external policy.
             */
            healthCheckNodePort?: number;
            /**
             * @description Routing of cluster-internal traffic: Cluster (default) uses all endpoints, Local only those on the sender's node.
             * @enum {string}
             */
            internalTrafficPolicy?: "Cluster" | "Local";
            /** @description IP families in use, IPv4 or IPv6, in order of preference; at most two. Chosen automatically when empty. */
            ipFamilies?: ("IPv4" | "IPv6")[];
            /**
             * @description How many IP families to use: SingleStack (default), PreferDualStack or RequireDualStack.
             * @enum {string}
             */
            ipFamilyPolicy?: "PreferDualStack" | "RequireDualStack" | "SingleStack";
            /** @description Name of the load balancer implementation to use. Absent selects the platform's default; fixed once set. */
            loadBalancerClass?: string;
            /** @description Address wanted for the load balancer; providers without support ignore it. Only for type LoadBalancer. */
            loadBalancerIP?: string;
            /** @description Client networks, in CIDR form, that may reach the load balancer, where the provider supports it. */
            loadBalancerSourceRanges?: string[];
            /** @description Ports the Service offers. May be empty only for headless or ExternalName Services. */
            ports?: components["schemas"]["io.k8s.api.core.v1.ServicePort"][];
            /** @description When true, DNS and endpoints include pods that are not ready. Defaults to false. */
            publishNotReadyAddresses?: boolean;
            /** @description Labels of the pods that receive traffic. When empty, endpoints are managed by someone else; ignored for ExternalName. */
            selector?: {
                [key: string]: string;
            };
            /**
             * @description Set to ClientIP to send a client's connections to the same pod. Defaults to None.
             * @default None
             * @enum {string}
             */
            sessionAffinity?: "ClientIP" | "None";
            /** @description Details of session affinity, such as its timeout. Used only with ClientIP affinity. */
            sessionAffinityConfig?: components["schemas"]["io.k8s.api.core.v1.SessionAffinityConfig"];
            /**
             * @description Exposure: ClusterIP (default), NodePort, LoadBalancer or ExternalName, which is only a DNS alias.
             * @default ClusterIP
             * @enum {string}
             */
            type?: "ClusterIP" | "ExternalName" | "LoadBalancer" | "NodePort";
        };
        /** @description Latest observed state of a Service. */
        "io.k8s.api.core.v1.ServiceStatus": {
            /** @description Current observations about the Service, one entry per condition type. */
            conditions?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Condition"][];
            /** @description Addresses and ports of the provisioned load balancer, if there is one. */
            loadBalancer?: components["schemas"]["io.k8s.api.core.v1.LoadBalancerStatus"];
        };
        /** @description Settings for sticky sessions of a Service. */
        "io.k8s.api.core.v1.SessionAffinityConfig": {
            /**
             * @description Settings for affinity based on the client's IP address, such as the timeout.
             * @default {}
             */
            clientIP?: components["schemas"]["io.k8s.api.core.v1.ClientIPConfig"];
        };
        /** @description Mounts a StorageOS volume directly in a pod. */
        "io.k8s.api.core.v1.StorageOSVolumeSource": {
            /** @description File system to mount, for example ext4, xfs or ntfs. Treated as ext4 when empty. */
            fsType?: string;
            /** @description Forces read-only mounts of the volume. Defaults to false. */
            readOnly?: boolean;
            /** @description Secret in the pod's namespace with credentials for the StorageOS API. Built-in defaults are tried when absent. */
            secretRef?: components["schemas"]["io.k8s.api.core.v1.LocalObjectReference"];
            /** @description Name of the StorageOS volume, unique within its StorageOS namespace. */
            volumeName?: string;
            /** @description StorageOS namespace that holds the volume. The pod's namespace is used when empty. */
            volumeNamespace?: string;
        };
        /** @description One kernel parameter to set for a pod. */
        "io.k8s.api.core.v1.Sysctl": {
            /** @description Kernel parameter to change, for example net.core.somaxconn. */
            name: string;
            /** @description Setting written to the kernel parameter, as a string. */
            value: string;
        };
        /** @description Health action that tries to open a TCP connection. */
        "io.k8s.api.core.v1.TCPSocketAction": {
            /** @description Host to connect to. Defaults to the pod's IP address. */
            host?: string;
            /** @description Port to connect to, by number or by container port name. */
            port: components["schemas"]["io.k8s.apimachinery.pkg.util.intstr.IntOrString"];
        };
        /** @description Lets a pod accept taints that match it by key, value and effect. */
        "io.k8s.api.core.v1.Toleration": {
            /**
             * @description Taint effect to accept: NoSchedule, PreferNoSchedule or NoExecute. Empty matches all of them.
             * @enum {string}
             */
            effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
            /** @description Taint key to accept. Empty matches every key and requires operator Exists. */
            key?: string;
            /**
             * @description How the taint value is compared: Equal (default) or Exists, which accepts any value.
             * @enum {string}
             */
            operator?: "Equal" | "Exists";
            /**
             * Format: int64
             * @description Seconds the pod may stay after a NoExecute taint appears. Absent means forever; zero or less evicts at once.
             */
            tolerationSeconds?: number;
            /** @description Taint value to accept; must be empty when the operator is Exists. */
            value?: string;
        };
        /** @description Rule for distributing matching pods evenly over topology domains. */
        "io.k8s.api.core.v1.TopologySpreadConstraint": {
            /** @description Label query for the pods counted in each domain. */
            labelSelector?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"];
            /** @description Pod label keys whose values on the incoming pod narrow the set of counted pods. Missing keys are skipped. */
            matchLabelKeys?: string[];
            /**
             * Format: int32
             * @description Largest permitted difference in matching pods between a domain and the least loaded one; must be above zero.
             */
            maxSkew: number;
            /**
             * Format: int32
             * @description Number of eligible domains below which the least load counts as zero. Only with DoNotSchedule; absent behaves as 1.
             */
            minDomains?: number;
            /** @description Whether the pod's node affinity and selector limit the domains counted: Honor (default behaviour) or Ignore. */
            nodeAffinityPolicy?: string;
            /** @description Whether nodes with untolerated taints are left out of the count: Honor, or Ignore (default behaviour). */
            nodeTaintsPolicy?: string;
            /** @description Node label that defines the domains; nodes with equal values form one domain. */
            topologyKey: string;
            /**
             * @description Reaction when the rule cannot be met: DoNotSchedule leaves the pod pending, ScheduleAnyway merely prefers balanced nodes.
             * @enum {string}
             */
            whenUnsatisfiable: "DoNotSchedule" | "ScheduleAnyway";
        };
        /** @description Points at an object of any kind in the same namespace. */
        "io.k8s.api.core.v1.TypedLocalObjectReference": {
            /** @description API group of the referenced kind. Absent means the core group. */
            apiGroup?: string;
            /** @description Kind of the object being referred to. */
            kind: string;
            /** @description Name of the object being referred to, in the same namespace. */
            name: string;
        };
        /** @description Named storage in a pod that its containers can mount. */
        "io.k8s.api.core.v1.Volume": {
            /** @description AWS EBS disk that is attached to the node running the pod. */
            awsElasticBlockStore?: components["schemas"]["io.k8s.api.core.v1.AWSElasticBlockStoreVolumeSource"];
            /** @description Azure managed or blob data disk that is attached to the node running the pod. */
            azureDisk?: components["schemas"]["io.k8s.api.core.v1.AzureDiskVolumeSource"];
            /** @description Azure Files share that is mounted on the node running the pod. */
            azureFile?: components["schemas"]["io.k8s.api.core.v1.AzureFileVolumeSource"];
            /** @description CephFS file system that is mounted on the node running the pod. */
            cephfs?: components["schemas"]["io.k8s.api.core.v1.CephFSVolumeSource"];
            /** @description OpenStack Cinder disk that is attached to the node running the pod. */
            cinder?: components["schemas"]["io.k8s.api.core.v1.CinderVolumeSource"];
            /** @description Files made from the keys of a ConfigMap. */
            configMap?: components["schemas"]["io.k8s.api.core.v1.ConfigMapVolumeSource"];
            /** @description Short-lived volume served by a Container Storage Interface driver and tied to the pod's lifetime. */
            csi?: components["schemas"]["io.k8s.api.core.v1.CSIVolumeSource"];
            /** @description Files made from fields of the pod itself, such as labels or resource limits. */
            downwardAPI?: components["schemas"]["io.k8s.api.core.v1.DownwardAPIVolumeSource"];
            /** @description Initially empty directory that lives exactly as long as the pod stays on its node. */
            emptyDir?: components["schemas"]["io.k8s.api.core.v1.EmptyDirVolumeSource"];
            /** @description Volume backed by a claim that is created with the pod and deleted with it. */
            ephemeral?: components["schemas"]["io.k8s.api.core.v1.EphemeralVolumeSource"];
            /** @description Fibre Channel disk that is attached to the node running the pod. */
            fc?: components["schemas"]["io.k8s.api.core.v1.FCVolumeSource"];
            /** @description Volume handled by an exec-based FlexVolume driver installed on the nodes. */
            flexVolume?: components["schemas"]["io.k8s.api.core.v1.FlexVolumeSource"];
            /** @description Flocker volume attached to the node, provided the Flocker control service is running. */
            flocker?: components["schemas"]["io.k8s.api.core.v1.FlockerVolumeSource"];
            /** @description Google Compute Engine disk that is attached to the node running the pod. */
            gcePersistentDisk?: components["schemas"]["io.k8s.api.core.v1.GCEPersistentDiskVolumeSource"];
            /** @description Git repository cloned into the volume at start. Deprecated; clone in an init container instead. */
            gitRepo?: components["schemas"]["io.k8s.api.core.v1.GitRepoVolumeSource"];
            /** @description GlusterFS volume that is mounted on the node running the pod. */
            glusterfs?: components["schemas"]["io.k8s.api.core.v1.GlusterfsVolumeSource"];
            /** @description File or directory of the node, exposed directly to the pod. Powerful and risky. */
            hostPath?: components["schemas"]["io.k8s.api.core.v1.HostPathVolumeSource"];
            /** @description iSCSI disk that is attached to the node running the pod. */
            iscsi?: components["schemas"]["io.k8s.api.core.v1.ISCSIVolumeSource"];
            /** @description DNS label, unique within the pod, by which containers mount the volume. */
            name: string;
            /** @description NFS export that is mounted on the node running the pod. */
            nfs?: components["schemas"]["io.k8s.api.core.v1.NFSVolumeSource"];
            /** @description Persistent volume obtained through a claim in the pod's namespace. */
            persistentVolumeClaim?: components["schemas"]["io.k8s.api.core.v1.PersistentVolumeClaimVolumeSource"];
            /** @description Photon Controller disk that is attached to the node running the pod. */
            photonPersistentDisk?: components["schemas"]["io.k8s.api.core.v1.PhotonPersistentDiskVolumeSource"];
            /** @description Portworx volume that is attached to the node running the pod. */
            portworxVolume?: components["schemas"]["io.k8s.api.core.v1.PortworxVolumeSource"];
            /** @description Single directory combining secrets, config maps, downward API files and tokens. */
            projected?: components["schemas"]["io.k8s.api.core.v1.ProjectedVolumeSource"];
            /** @description Quobyte volume that is mounted on the node running the pod. */
            quobyte?: components["schemas"]["io.k8s.api.core.v1.QuobyteVolumeSource"];
            /** @description Ceph RBD image that is mapped and mounted on the node running the pod. */
            rbd?: components["schemas"]["io.k8s.api.core.v1.RBDVolumeSource"];
            /** @description ScaleIO volume that is attached to the node running the pod. */
            scaleIO?: components["schemas"]["io.k8s.api.core.v1.ScaleIOVolumeSource"];
            /** @description Files made from the keys of a Secret. */
            secret?: components["schemas"]["io.k8s.api.core.v1.SecretVolumeSource"];
            /** @description StorageOS volume that is attached to the node running the pod. */
            storageos?: components["schemas"]["io.k8s.api.core.v1.StorageOSVolumeSource"];
            /** @description vSphere virtual disk that is attached to the node running the pod. */
            vsphereVolume?: components["schemas"]["io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource"];
        };
        /** @description Exposes a block-mode volume as a raw device in a container. */
        "io.k8s.api.core.v1.VolumeDevice": {
            /** @description Path inside the container at which the device appears. */
            devicePath: string;
            /** @description Name of the pod volume, which must come from a persistent volume claim. */
            name: string;
        };
        /** @description Makes a pod volume visible at a path in a container. */
        "io.k8s.api.core.v1.VolumeMount": {
            /** @description Path inside the container at which the volume appears; must not contain a colon. */
            mountPath: string;
            /**
             * @description Sharing of later mounts with the node: None (default), HostToContainer or Bidirectional.
             * @enum {string}
             */
            mountPropagation?: "Bidirectional" | "HostToContainer" | "None";
            /** @description Name of the pod volume to mount; must match an entry in volumes. */
            name: string;
            /** @description Mounts the volume without write access when true. Defaults to false. */
            readOnly?: boolean;
            /** @description Path inside the volume to mount instead of its root. Cannot be combined with subPathExpr. */
            subPath?: string;
            /** @description Like subPath, but $(NAME) references are replaced from the container's environment. Cannot be combined with subPath. */
            subPathExpr?: string;
        };
        /** @description One source of files for a projected volume; exactly one member is set. */
        "io.k8s.api.core.v1.VolumeProjection": {
            /** @description Files made from the keys of a ConfigMap. */
            configMap?: components["schemas"]["io.k8s.api.core.v1.ConfigMapProjection"];
            /** @description Files made from fields of the pod itself. */
            downwardAPI?: components["schemas"]["io.k8s.api.core.v1.DownwardAPIProjection"];
            /** @description Files made from the keys of a Secret. */
            secret?: components["schemas"]["io.k8s.api.core.v1.SecretProjection"];
            /** @description File with a renewable token of the pod's service account. */
            serviceAccountToken?: components["schemas"]["io.k8s.api.core.v1.ServiceAccountTokenProjection"];
        };
        /** @description Refers to a vSphere virtual disk. */
        "io.k8s.api.core.v1.VsphereVirtualDiskVolumeSource": {
            /** @description File system to mount, for example ext4, xfs or ntfs. Treated as ext4 when empty. */
            fsType?: string;
            /** @description Identifier of the storage policy profile that belongs to storagePolicyName. */
            storagePolicyID?: string;
            /** @description Name of the storage policy profile applied to the disk. */
            storagePolicyName?: string;
            /** @description Path of the virtual disk file, including its datastore. */
            volumePath: string;
        };
        /** @description Pod affinity preference with a weight. */
        "io.k8s.api.core.v1.WeightedPodAffinityTerm": {
            /** @description Pods and topology domain to which the preference refers. */
            podAffinityTerm: components["schemas"]["io.k8s.api.core.v1.PodAffinityTerm"];
            /**
             * Format: int32
             * @description Score added for nodes that satisfy the term, from 1 to 100.
             */
            weight: number;
        };
        /** @description Security settings that apply only to Windows containers. */
        "io.k8s.api.core.v1.WindowsSecurityContextOptions": {
            /** @description Inlined content of the GMSA credential spec, normally filled in by an admission webhook. */
            gmsaCredentialSpec?: string;
            /** @description Name of the GMSA credential spec resource to use for the container's domain identity. */
            gmsaCredentialSpecName?: string;
            /** @description Runs containers directly on the node. All containers of a pod must agree, and hostNetwork must then be true. */
            hostProcess?: boolean;
            /** @description Windows user for the container's first process. Defaults to the user given in the image. */
            runAsUserName?: string;
        };
        /** @description One backend of a service: addresses that lead to the same place, and its state. */
        "io.k8s.api.discovery.v1.Endpoint": {
            /** @description Addresses of the slice's type, at most 100. Users of a slice may take the first and ignore the others. */
            addresses: string[];
            /** @description State of the endpoint, by which traffic is sent or not. */
            conditions?: components["schemas"]["io.k8s.api.discovery.v1.EndpointConditions"];
            /** @description Topology labels of the older version of this kind. Kept when objects of that version are read; cannot be set here. */
            deprecatedTopology?: {
                [key: string]: string;
            };
            /** @description Advice about which clients should use the endpoint. */
            hints?: components["schemas"]["io.k8s.api.discovery.v1.EndpointHints"];
            /** @description Host name of the endpoint, for DNS names of its own within the service. */
            hostname?: string;
            /** @description Node on which the endpoint runs. */
            nodeName?: string;
            /** @description Object that the endpoint stands for, normally a pod. */
            targetRef?: components["schemas"]["io.k8s.api.core.v1.ObjectReference"];
            /** @description Zone in which the endpoint runs. */
            zone?: string;
        };
        /** @description State of an endpoint in three answers. An absent one is unknown. */
        "io.k8s.api.discovery.v1.EndpointConditions": {
            /** @description Whether it takes new connections. Unknown counts as yes. */
            ready?: boolean;
            /** @description Like ready, but stays true while an endpoint that still answers is terminating. */
            serving?: boolean;
            /** @description Whether it is on its way out. Unknown counts as no. */
            terminating?: boolean;
        };
        /** @description Advice for those who send traffic to an endpoint. */
        "io.k8s.api.discovery.v1.EndpointHints": {
            /** @description Zones whose clients should prefer the endpoint, at most 8. */
            forZones?: components["schemas"]["io.k8s.api.discovery.v1.ForZone"][];
        };
        /** @description One port of the endpoints of a slice. */
        "io.k8s.api.discovery.v1.EndpointPort": {
            /** @description Protocol that is spoken above the transport: a registered service name, or a name with a domain prefix. */
            appProtocol?: string;
            /**
             * @description Name of the port in the service, unique in the slice; empty for the only port of a service.
             * @default
             */
            name?: string;
            /**
             * Format: int32
             * @description Number of the port at the endpoints. Absent leaves it to those who use the slice.
             */
            port?: number;
            /**
             * @description TCP, UDP or SCTP.
             * @default TCP
             * @enum {string}
             */
            protocol?: "SCTP" | "TCP" | "UDP";
        };
        /** @description Some of the addresses behind a service. All slices of a service together hold its endpoints. */
        "io.k8s.api.discovery.v1.EndpointSlice": {
            /**
             * @description Kind of all addresses of the slice: IPv4, IPv6 or FQDN for host names. Cannot be changed later.
             * @enum {string}
             */
            addressType: "FQDN" | "IPv4" | "IPv6";
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /** @description Up to 1000 endpoints. */
            endpoints: components["schemas"]["io.k8s.api.discovery.v1.Endpoint"][];
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Name, namespace and labels; one label names the service, another who manages the slice. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
            /** @description Ports that every endpoint of the slice offers. Null stands for all ports. */
            ports?: components["schemas"]["io.k8s.api.discovery.v1.EndpointPort"][];
        };
        /** @description Names a zone. */
        "io.k8s.api.discovery.v1.ForZone": {
            /** @description Value of the zone's label. */
            name: string;
        };
        /** @description An amount with an optional decimal (m, k, M, G, ...) or binary (Ki, Mi, Gi, ...) suffix, for example 500m, 1.5 or 2Gi. */
        "io.k8s.apimachinery.pkg.api.resource.Quantity": string | number;
        /** @description Common form for one observation about an object's current state. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.Condition": {
            /** @description Moment at which the condition's status value most recently flipped. */
            lastTransitionTime: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description Free-form explanation of the latest status change for people; may be empty. */
            message: string;
            /**
             * Format: int64
             * @description Value of metadata.generation on which this condition was based; a smaller number than the current one means outdated.
             */
            observedGeneration?: number;
            /** @description CamelCase token, never empty, that explains the latest status change to programs. */
            reason: string;
            /** @description Whether the condition holds: True, False or Unknown. */
            status: string;
            /** @description CamelCase or domain-prefixed name of the aspect being reported. */
            type: string;
        };
        /** @description A set of fields as a tree: keys are f:<field name>, k:<list map keys as JSON>, v:<set value>, i:<index> or . for the value itself. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": Record<string, unknown>;
        /** @description Query over labels whose parts must all match. An empty selector matches everything, a missing one nothing. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": {
            /** @description Set-based requirements, all of which must be satisfied along with matchLabels. */
            matchExpressions?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement"][];
            /** @description Labels that must be present with exactly these values. */
            matchLabels?: {
                [key: string]: string;
            };
        };
        /** @description Single test of one label key against a set of values. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement": {
            /** @description Label key that the test looks at. */
            key: string;
            /** @description How the key relates to the values: In, NotIn, Exists or DoesNotExist. */
            operator: string;
            /** @description Values to compare with; needed for In and NotIn, must be empty for Exists and DoesNotExist. */
            values?: string[];
        };
        /** @description Metadata shared by all list responses and some synthetic objects. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta": {
            /** @description Opaque token for fetching the next page; empty when this page is the last one. */
            continue?: string;
            /**
             * Format: int64
             * @description Estimate of how many items follow this page; absent when selectors are used or nothing remains.
             */
            remainingItemCount?: number;
            /** @description Opaque version of the collection at read time, from which a watch can be started. */
            resourceVersion?: string;
            /** @description Legacy path of the list; the server no longer fills it in. */
            selfLink?: string;
        };
        /** @description Records which fields one manager set through one kind of operation. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry": {
            /** @description Group and version whose schema the recorded field paths follow. */
            apiVersion?: string;
            /**
             * @description Format of the recorded field set; FieldsV1 is the only one in use.
             * @enum {string}
             */
            fieldsType?: "FieldsV1";
            /** @description Field paths owned by the manager, stored in FieldsV1 form. */
            fieldsV1?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"];
            /** @description Name of the client or controller that owns the listed fields. */
            manager?: string;
            /**
             * @description How the fields were set: Apply for server-side apply, Update for every other write.
             * @enum {string}
             */
            operation?: "Apply" | "Update";
            /** @description Subresource through which the fields were written; empty for the main resource. */
            subresource?: string;
            /** @description Moment at which this entry was added or its field set last changed. */
            time?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
        };
        /**
         * Format: date-time
         * @description A point in time with microseconds, RFC 3339, for example 2006-01-02T15:04:05.000000Z.
         */
        "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": string;
        /** @description Standard object's metadata: identity and bookkeeping data that every stored object carries. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
            /** @description Arbitrary key and value data for tools; it cannot be used in selectors. */
            annotations?: {
                [key: string]: string;
            };
            /** @description CreationTimestamp is a timestamp of the moment at which the server accepted the object. Set by the server only. */
            creationTimestamp?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /**
             * Format: int64
             * @description Seconds granted for shutdown before removal; set along with deletionTimestamp and may only be shortened.
             */
            deletionGracePeriodSeconds?: number;
            /** @description Moment after which the object is to be gone; present once graceful deletion was requested and not clearable. */
            deletionTimestamp?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.Time"];
            /** @description Keys that must each be removed by their responsible component before a deleted object disappears. */
            finalizers?: string[];
            /** @description Prefix to which the server appends random characters when name is left empty. */
            generateName?: string;
            /**
             * Format: int64
             * @description Counter the server raises whenever the desired state changes; unaffected by status updates.
             */
            generation?: number;
            /** @description Short key and value pairs used to organise and select objects. */
            labels?: {
                [key: string]: string;
            };
            /** @description Ownership records per field and manager, maintained by the server for server-side apply. */
            managedFields?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry"][];
            /** @description Identifies the object among others of its kind in the same namespace. Cannot be changed after creation. */
            name?: string;
            /** @description Scope in which the name is unique; empty for cluster-wide kinds. Cannot be changed after creation. */
            namespace?: string;
            /** @description Objects this one depends on. When all of them are gone the object is garbage collected. */
            ownerReferences?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"][];
            /** @description Opaque value changed on every write; send it back on update to detect concurrent modification. */
            resourceVersion?: string;
            /** @description Legacy path of the object; the server no longer fills it in. */
            selfLink?: string;
            /** @description Server-assigned identifier, unique over time, that tells apart objects that reused a name. */
            uid?: string;
        };
        /** @description Points from a dependent to an owner that is in the same namespace or cluster-wide. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {
            /** @description Group and version of the owner's kind. */
            apiVersion: string;
            /** @description When true, foreground deletion of the owner waits until this dependent is removed. Defaults to false. */
            blockOwnerDeletion?: boolean;
            /** @description True for the single owner that manages this object; at most one reference may set it. */
            controller?: boolean;
            /** @description Kind of the owning object, for example ReplicaSet. */
            kind: string;
            /** @description Name of the object that owns the dependent. */
            name: string;
            /** @description Unique ID of the owner, so that a recreated object of the same name does not count. */
            uid: string;
        };
        /** @description Result of a call that returns no object, most often describing an error. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.Status": {
            /** @description APIVersion defines the group and version of this representation; servers refuse one that they do not know. */
            apiVersion?: string;
            /**
             * Format: int32
             * @description HTTP status code suggested for the response; 0 if unset.
             */
            code?: number;
            /** @description Structured facts about the failure, whose content depends on the reason. */
            details?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails"];
            /** @description Name of the type of this object, in CamelCase; cannot be changed. */
            kind?: string;
            /** @description Description of the outcome in words, meant for people. */
            message?: string;
            /** @description List-style metadata of the response, usually empty. */
            metadata?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"];
            /** @description CamelCase word classifying a failure for programs, such as NotFound or Conflict. Empty when nothing is known. */
            reason?: string;
            /** @description Outcome of the call: Success or Failure. */
            status?: string;
        };
        /** @description One contributing problem of a failed request. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause": {
            /** @description Dotted path of the offending field in the request body, with indexes in brackets for list elements. */
            field?: string;
            /** @description Description of this cause in words; may be shown to users. */
            message?: string;
            /** @description CamelCase word classifying this cause for programs, such as FieldValueInvalid. */
            reason?: string;
        };
        /** @description Additional facts about the object and problems behind a failed request. */
        "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails": {
            /** @description Individual problems that led to the failure, for example one per invalid field. */
            causes?: components["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause"][];
            /** @description API group of the resource involved in the failure. */
            group?: string;
            /** @description Kind or resource name involved in the failure. */
            kind?: string;
            /** @description Name of the object involved, when the failure concerns a single one. */
            name?: string;
            /**
             * Format: int32
             * @description Seconds a client should wait before trying again, when a retry makes sense.
             */
            retryAfterSeconds?: number;
            /** @description Unique ID of the object involved, when there is a single one. */
            uid?: string;
        };
        /**
         * Format: date-time
         * @description A point in time with whole seconds, RFC 3339, for example 2006-01-02T15:04:05Z.
         */
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time": string;
        /**
         * Format: int-or-string
         * @description Either a 32-bit integer or a string.
         */
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString": number | string;
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
