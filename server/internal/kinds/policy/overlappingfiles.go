package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Files of a volume that are made from other objects may hide each other: one has the path of another, or of a folder above it.

// volumeFile is the path of a file in a volume, and the object that it is from, "" for that of the volume.
type volumeFile struct{ path, source string }

func (f volumeFile) String() string {
	if f.source == "" {
		return strconv.Quote(f.path)
	}
	return strconv.Quote(f.path) + " (" + f.source + ")"
}

// hides reports whether two files cannot both be there.
func (f volumeFile) hides(other volumeFile) bool {
	a, b := f.path+"/", other.path+"/"
	return f.path != "" && other.path != "" && (strings.HasPrefix(a, b) || strings.HasPrefix(b, a))
}

// overlappingFiles warns of files that hide each other, and of sources without any. Until 1.33 a source that names no files is taken to have
// those of the source before it.
func (w *warnings) overlappingFiles(p Policy, volumes document.Value) {
	for _, volume := range volumes.Elements() {
		name := volume.Get("name").Text()
		for _, kind := range [...]struct{ member, shown, object string }{{"configMap", "ConfigMap", "name"}, {"secret", "Secret", "secretName"},
			{"downwardAPI", "DownwardAPI", ""}} {
			of := volume.Get(kind.member)
			if !isSet(of) {
				continue
			}
			shown := kind.shown
			if kind.object != "" {
				shown += " " + strconv.Quote(of.Get(kind.object).Text())
			}
			w.overlapping(name, shown, filesIn(of.Get("items"), ""))
		}
		var files, found []volumeFile
		for _, source := range volume.At("projected", "sources").Elements() {
			if source.IsNothing() {
				*w = append(*w, "volume "+strconv.Quote(name)+" (Projected) has no sources provided")
				continue
			}
			if named := projectedFiles(source); named != nil || p.since("1.34") {
				found = named
			}
			files = append(files, found...)
		}
		w.overlapping(name, "Projected", files)
	}
}

// overlapping warns of files of one volume that hide each other.
func (w *warnings) overlapping(volume, kind string, files []volumeFile) {
	for i, file := range files {
		for _, other := range files[:i] {
			if file.hides(other) {
				*w = append(*w, "volume "+strconv.Quote(volume)+" ("+kind+"): overlapping paths: "+file.String()+" with "+other.String())
			}
		}
	}
}

// filesIn are the files of a list of items.
func filesIn(items document.Value, source string) (files []volumeFile) {
	for _, item := range items.Elements() {
		files = append(files, volumeFile{strings.TrimRight(item.Get("path").Text(), "/"), source})
	}
	return files
}

// projectedFiles are the files of one source of a projected volume.
func projectedFiles(source document.Value) (files []volumeFile) {
	add := func(path document.Value, source string) {
		if path.Text() != "" {
			files = append(files, volumeFile{strings.TrimRight(path.Text(), "/"), source})
		}
	}
	for _, kind := range [...]struct{ member, shown string }{{"configMap", "ConfigMap "}, {"secret", "Secret "}} {
		if of := source.Get(kind.member); isSet(of.Get("items")) {
			return filesIn(of.Get("items"), kind.shown+strconv.Quote(of.Get("name").Text()))
		}
	}
	if items := source.At("downwardAPI", "items"); isSet(items) {
		return filesIn(items, "DownwardAPI")
	}
	switch bundle, certificate := source.Get("clusterTrustBundle"), source.Get("podCertificate"); {
	case isSet(source.Get("serviceAccountToken")):
		add(source.At("serviceAccountToken", "path"), "ServiceAccountToken")
	case isSet(bundle):
		name := bundle.Get("name")
		if !isSet(name) {
			name = bundle.Get("signerName")
		}
		add(bundle.Get("path"), "ClusterTrustBundle "+strconv.Quote(name.Text()))
	case isSet(certificate):
		add(certificate.Get("certificateChainPath"), "PodCertificate chain")
		add(certificate.Get("keyPath"), "PodCertificate key")
		add(certificate.Get("credentialBundlePath"), "PodCertificate credential bundle")
	}
	return files
}
